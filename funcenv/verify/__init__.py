"""Records of every registered environment, and the comparison of this machine's results with them."""

from funcenv.verify.outcome import Outcome, Result
from funcenv.verify.record import Record, load_record, recorded_ids
from funcenv.verify.run import verify
from funcenv.verify.streams import verify_streams

__all__ = ["Outcome", "Record", "Result", "load_record", "recorded_ids", "verify", "verify_streams"]
