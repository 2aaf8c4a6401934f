"""Training algorithms, one file each, and the runs that are started, resumed and evaluated with them."""
