//! Reads and writes, which block or do not.

use rmpi_macros::wraps;

use super::super::buffer::{BufferMut, BufferRef, RawBuffer};
use super::super::error::{RmpiResult, output};
use super::super::request::{Request, Scope};
use super::super::status::{self, Status};
use super::super::sys;
use super::File;

/// What is refused where a file is asked to be usable in one of two ways.
macro_rules! errors {
    (whole) => {
        "[`ARG`](super::super::ErrorClass::ARG) if the place is 2<sup>62</sup> bytes or more from the start of the file; \
            [`FILE`](super::super::ErrorClass::FILE) after MPI has refused a view; what MPI says."
    };
    (not_split) => {
        "[`ARG`](super::super::ErrorClass::ARG) if the place is 2<sup>62</sup> bytes or more from the start of the file; \
            [`FILE`](super::super::ErrorClass::FILE) after MPI has refused a view; [`REQUEST`](super::super::ErrorClass::REQUEST) while a split \
            operation has not ended; what MPI says."
    };
}

/// Reads and writes that block.
macro_rules! accesses {
    ($buffer:ident $as_raw:ident $what:literal, $example:literal; $(
        $name:ident($($offset:ident)?) = $function:ident, $where:literal, $kind:literal, $usable:ident, $fits:ident;
    )*) => {
        impl File<'_> {$(
            #[doc = concat!($what, $where, ". C: `", stringify!($function), "`. ", $kind)]
            ///
            /// # Errors
            #[doc = errors!($usable)]
            ///
            /// ```no_run
            /// # fn example(file: &rmpi::File<'_>) -> rmpi::RmpiResult {
            /// let mut numbers = [0.0_f64; 10];
            #[doc = concat!(
                "let status = file.", stringify!($name), "(",
                $("10 /* ", stringify!($offset), " */, ",)? $example, ")?;"
            )]
            /// println!("{:?}", status.get_count::<f64>()?);
            /// # Ok(()) }
            /// ```
            #[wraps($function)]
            #[allow(unused_mut, reason = "reads need it")]
            pub fn $name<B: $buffer>(
                &self,
                $($offset: u64,)?
                mut buffer: B,
            ) -> RmpiResult<Status> {
                self.$usable()?;
                $(let $offset = self.at($offset)?;)?
                let raw = buffer.$as_raw()?;
                self.$fits(&raw)?;
                // SAFETY: the function asks for an open file, which `self` is until it is closed, and a buffer
                // that is accessible during the call: its trait promises that of what `$as_raw` gave, and
                // `buffer` lives on. It writes a status to what `output` lends.
                output(status::empty(), |status| unsafe {
                    mpi.call(self.raw, $($offset,)? raw.pointer, raw.count, raw.datatype, status)
                })
                // SAFETY: `from_raw` asks for a status that MPI wrote, as it has, since it has not failed.
                .map(|status| unsafe { Status::from_raw(status) })
            }
        )*}
    };
}

accesses! {
    BufferMut as_raw_mut "Reads into a buffer", "&mut numbers";
    read() = MPI_File_read, " from where this process's file pointer is, which moves",
        "Blocks, local.", whole, fits_here;
    read_all() = MPI_File_read_all, " from where this process's file pointer is, which moves",
        "Blocks, collective.", not_split, fits_here;
    read_at(offset) = MPI_File_read_at, ", at an offset", "Blocks, local.", whole, fits;
    read_at_all(offset) = MPI_File_read_at_all, ", at an offset", "Blocks, collective.", not_split, fits;
    read_shared() = MPI_File_read_shared, " from where the shared file pointer is, which moves",
        "Blocks, not local.", whole, fits;
    read_ordered() = MPI_File_read_ordered,
        " from where the shared file pointer is, one process after the other", "Blocks, collective.", not_split, fits;
}

accesses! {
    BufferRef as_raw "Writes a buffer", "&numbers";
    write() = MPI_File_write, " to where this process's file pointer is, which moves",
        "Blocks, local.", whole, fits_here;
    write_all() = MPI_File_write_all, " to where this process's file pointer is, which moves",
        "Blocks, collective.", not_split, fits_here;
    write_at(offset) = MPI_File_write_at, ", at an offset", "Blocks, local.", whole, fits;
    write_at_all(offset) = MPI_File_write_at_all, ", at an offset", "Blocks, collective.", not_split, fits;
    write_shared() = MPI_File_write_shared, " to where the shared file pointer is, which moves",
        "Blocks, not local.", whole, fits;
    write_ordered() = MPI_File_write_ordered,
        " to where the shared file pointer is, one process after the other", "Blocks, collective.", not_split, fits;
}

/// Reads and writes in a scope.
macro_rules! accesses_later {
    ($buffer:ident $as_raw:ident $what:literal, $example:literal; $(
        $name:ident($($offset:ident)?) = $function:ident, $like:ident, $kind:literal, $usable:ident, $fits:ident;
    )*) => {
        impl File<'_> {$(
            #[doc = concat!("Begins to ", $what, " as [`", stringify!($like), "`](Self::",
                stringify!($like), ") does. C: `", stringify!($function), "`. ", $kind)]
            ///
            /// The file lives longer than the scope, since it must not be closed before.
            ///
            /// # Errors
            #[doc = errors!($usable)]
            ///
            /// ```no_run
            /// # fn example(file: &rmpi::File<'_>) -> rmpi::RmpiResult {
            /// let mut numbers = [0.0_f64; 10];
            /// rmpi::scope(|scope| {
            #[doc = concat!(
                "    let request = file.", stringify!($name), "(scope, ",
                $("10 /* ", stringify!($offset), " */, ",)? $example, ")?;"
            )]
            ///     let (_numbers, status) = request.wait_status()?;
            ///     println!("{:?}", status.get_count::<f64>()?);
            ///     Ok(())
            /// })
            /// # }
            /// ```
            #[wraps($function)]
            #[allow(unused_mut, reason = "reads need it")]
            pub fn $name<'scope, B: $buffer + 'scope>(
                &'scope self,
                scope: &'scope Scope<'scope, '_>,
                $($offset: u64,)?
                buffer: B,
            ) -> RmpiResult<Request<'scope, B>> {
                self.$usable()?;
                $(let $offset = self.at($offset)?;)?
                // SAFETY: `begin_lasting` asks for memory that is the buffer's wherever that moves, and valid
                // for `'scope`: its trait and `B: 'scope` say so. The file is borrowed for `'scope`, and so is
                // not closed before the scope has waited.
                unsafe {
                    scope.begin_lasting(buffer, |buffer| {
                        let raw = buffer.$as_raw()?;
                        self.$fits(&raw)?;
                        output(sys::MPI_REQUEST_NULL, |request| {
                            let RawBuffer { pointer, count, datatype } = raw;
                            mpi.call(self.raw, $($offset,)? pointer, count, datatype, request)
                        })
                    })
                }
            }
        )*}
    };
}

accesses_later! {
    BufferMut as_raw_mut "read", "&mut numbers";
    iread() = MPI_File_iread, read, "Local.", whole, fits_here;
    iread_all() = MPI_File_iread_all, read_all, "Collective, does not block.", not_split, fits_here;
    iread_at(offset) = MPI_File_iread_at, read_at, "Local.", whole, fits;
    iread_at_all(offset) = MPI_File_iread_at_all, read_at_all, "Collective, does not block.", not_split, fits;
    iread_shared() = MPI_File_iread_shared, read_shared, "Does not block.", whole, fits;
}

accesses_later! {
    BufferRef as_raw "write", "&numbers";
    iwrite() = MPI_File_iwrite, write, "Local.", whole, fits_here;
    iwrite_all() = MPI_File_iwrite_all, write_all, "Collective, does not block.", not_split, fits_here;
    iwrite_at(offset) = MPI_File_iwrite_at, write_at, "Local.", whole, fits;
    iwrite_at_all(offset) = MPI_File_iwrite_at_all, write_at_all, "Collective, does not block.", not_split, fits;
    iwrite_shared() = MPI_File_iwrite_shared, write_shared, "Does not block.", whole, fits;
}
