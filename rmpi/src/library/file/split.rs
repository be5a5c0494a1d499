//! Collective reads and writes in two calls.

use core::cell::Cell;
use core::ffi::c_void;
use core::mem::MaybeUninit;

use rmpi_macros::wraps;

use super::super::buffer::{BufferMut, BufferRef};
use super::super::error::{Error, ErrorClass, RmpiResult, check, output};
use super::super::request::placed;
use super::super::status::{self, Status};
use super::super::sys::{self, MPI_File};
use super::File;

/// A split collective operation (MPI-5.0, 14.4.5) that was begun, and keeps its buffer. Dropped, it is
/// ended, which is collective. Forgotten, or dropped by a panic, it leaks the buffer, and the file stays
/// open.
#[derive(Debug)]
struct Split<'f, B> {
    file: &'f Cell<bool>,
    raw: MPI_File,
    pointer: *mut c_void,
    buffer: MaybeUninit<B>,
}

impl<'f, B> Split<'f, B> {
    /// After MPI ended it.
    fn ended(self, status: RmpiResult<sys::MPI_Status>) -> RmpiResult<(B, Status)> {
        let status = status?;
        self.file.set(false);
        // SAFETY: `assume_init` asks for a value, which `buffer` was made of. The operation has ended without
        // an error, so MPI does not use it any more. `from_raw` asks for a status that MPI wrote, as it has then.
        Ok(unsafe { (self.buffer.assume_init(), Status::from_raw(status)) })
    }
}

/// Collective reads and writes in two calls.
macro_rules! splits {
    ($buffer:ident $as_raw:ident $what:literal; $(
        $name:ident($($offset:ident)?) = $begin:ident, $like:ident, $fits:ident;
        $guard:ident = $end:ident;
    )*) => {$(
        #[doc = concat!("What [`", stringify!($name), "`](File::", stringify!($name), ") began, and its buffer.")]
        ///
        /// Dropped, it is [ended](Self::end), with all other processes. Forgotten, or dropped by a
        /// panic, it leaks the buffer, and the file is never closed.
        #[derive(Debug)]
        #[must_use = "it is ended when it is dropped"]
        pub struct $guard<'f, B>(Option<Split<'f, B>>);

        impl File<'_> {
            #[doc = concat!("Begins to ", $what, " as [`", stringify!($like), "`](Self::",
                stringify!($like), ") does; one such operation at a time. C: `", stringify!($begin),
                "`. Collective, does not block.")]
            ///
            /// # Errors
            /// [`REQUEST`](ErrorClass::REQUEST) if another one has not ended; what MPI says.
            ///
            /// ```no_run
            /// # fn example(file: &rmpi::File<'_>) -> rmpi::RmpiResult {
            #[doc = concat!(
                "let operation = file.", stringify!($name), "(",
                $("10 /* ", stringify!($offset), " */, ",)? "vec![0.0_f64; 10])?;"
            )]
            /// let (numbers, _status) = operation.end()?;
            /// # Ok(()) }
            /// ```
            #[wraps($begin)]
            #[allow(unused_mut, reason = "reads need it")]
            pub fn $name<B: $buffer + 'static>(
                &self,
                $($offset: u64,)?
                buffer: B,
            ) -> RmpiResult<$guard<'_, B>> {
                self.not_split()?;
                $(let $offset = self.at($offset)?;)?
                let (pointer, buffer) = placed(buffer, |buffer| {
                    let raw = buffer.$as_raw()?;
                    self.$fits(&raw)?;
                    // SAFETY: the function asks for an open file without another split operation, which was
                    // looked for above, and for memory that stays until the operation has ended: the buffer's
                    // trait promises it wherever the buffer moves, and the guard keeps the buffer, or leaks it;
                    // it borrows nothing, as it is `'static`.
                    check(unsafe {
                        mpi.call(self.raw, $($offset,)? raw.pointer, raw.count, raw.datatype)
                    })?;
                    Ok(raw.pointer)
                })?;
                self.split.set(true);
                Ok($guard(Some(Split { file: &self.split, raw: self.raw, pointer, buffer })))
            }
        }

        impl<B> $guard<'_, B> {
            #[doc = concat!("Waits until the operation is complete, and gives the buffer back. C: `",
                stringify!($end), "`. Blocks, collective.")]
            ///
            /// # Errors
            /// What MPI says; the buffer is leaked then.
            ///
            /// ```no_run
            #[doc = concat!("# fn example(operation: rmpi::", stringify!($guard), "<'_, Vec<f64>>) -> rmpi::RmpiResult {")]
            /// let (numbers, _status) = operation.end()?;
            /// # Ok(()) }
            /// ```
            #[wraps($end)]
            pub fn end(mut self) -> RmpiResult<(B, Status)> {
                let Some(split) = self.0.take() else {
                    return Err(Error::refused(ErrorClass::REQUEST, "it has ended"));
                };
                // SAFETY: the function asks for a file and the buffer of the split operation on it that has not
                // ended: the guard was made with both, borrows the file, and gives them once.
                let status = output(status::empty(), |status| unsafe {
                    mpi.call(split.raw, split.pointer, status)
                });
                split.ended(status)
            }
        }

        impl<B> Drop for $guard<'_, B> {
            fn drop(&mut self) {
                if let Some(split) = self.0.take() && !std::thread::panicking() {
                    // SAFETY: the function asks for a file and the buffer of the split operation on it that has
                    // not ended: the guard was made with both, borrows the file, and `end` has not taken them.
                    let status = output(status::empty(), |status| unsafe {
                        sys::$end(split.raw, split.pointer, status)
                    });
                    // An error leaks the buffer; `end` tells it.
                    let _ = split.ended(status);
                }
            }
        }
    )*};
}

splits! {
    BufferMut as_raw_mut "read";
    read_all_begin() = MPI_File_read_all_begin, read_all, fits_here;
    ReadAll = MPI_File_read_all_end;
    read_at_all_begin(offset) = MPI_File_read_at_all_begin, read_at_all, fits;
    ReadAtAll = MPI_File_read_at_all_end;
    read_ordered_begin() = MPI_File_read_ordered_begin, read_ordered, fits;
    ReadOrdered = MPI_File_read_ordered_end;
}

splits! {
    BufferRef as_raw "write";
    write_all_begin() = MPI_File_write_all_begin, write_all, fits_here;
    WriteAll = MPI_File_write_all_end;
    write_at_all_begin(offset) = MPI_File_write_at_all_begin, write_at_all, fits;
    WriteAtAll = MPI_File_write_at_all_end;
    write_ordered_begin() = MPI_File_write_ordered_begin, write_ordered, fits;
    WriteOrdered = MPI_File_write_ordered_end;
}
