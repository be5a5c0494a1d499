//! The place of `libqmpi.so`, a replacement for TUM's QMPI library that runs stacks of tools.
//! There is nothing here yet; tools are stacked by `LD_PRELOAD`.
