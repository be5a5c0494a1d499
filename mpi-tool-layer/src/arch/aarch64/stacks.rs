//! What a library exports that runs the stacks of TUM's QMPI: not there yet, as `libqmpi.so` makes machine code of x86-64.
