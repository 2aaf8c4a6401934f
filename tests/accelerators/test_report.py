"""What is read from a program's text, against a program written by hand."""

import pytest

from funcenv.accelerators.report import Collective, Loop, Program, num_bytes

TEXT = """
HloModule jit_f

%add (a: f32[], b: f32[]) -> f32[] {
  ROOT %c = f32[] add(%a, %b)
}

%body.1 (p: (s32[], f32[8])) -> (s32[], f32[8]) {
  %p = (s32[], f32[8]{0}) parameter(0)
  %i = s32[] get-tuple-element(%p), index=0
  %x = f32[8]{0} get-tuple-element(%p), index=1
  %y = f32[8]{0} fusion(%x), kind=kLoop, calls=%fused
  %z = f32[8]{0} all-reduce(%y), to_apply=%add
  ROOT %t = (s32[], f32[8]{0}) tuple(%i, %z)
}

ENTRY %main (a: f32[8]) -> f32[8] {
  %a = f32[8]{0} parameter(0)
  %l = (s32[], f32[8]{0}) while(%s), condition=%c, body=%body.1, backend_config={"known_trip_count":{"n":"5"}}
  ROOT %r = f32[8]{0} get-tuple-element(%l), index=1
}
"""


class Compiled:
    def as_text(self):
        return TEXT


def test_loops_kernels_traffic_and_collectives():
    program = Program(Compiled())
    assert program.main_loop() == Loop("body.1", 5)
    assert [kernel.name for kernel in program.kernels("body.1")] == ["fusion", "all-reduce"]
    assert program.traffic("body.1") == 4 * 32
    assert program.collectives() == [Collective("all-reduce", 32, "body.1")]
    assert program.computations_of("body.1") == {"body.1", "add"}


@pytest.mark.parametrize(("shapes", "size"), [("f32[]", 4), ("bf16[2,3]{1,0}", 12), ("(s64[2], pred[3])", 19), ("", 0)])
def test_sizes_of_types(shapes, size):
    assert num_bytes(shapes) == size
