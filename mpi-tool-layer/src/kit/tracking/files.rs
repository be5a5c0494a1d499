//! The application's files, by their names.

use core::ffi::{CStr, c_char};
use std::sync::Arc;

use mpi_sys::MPI_File;

use crate::call::freed;
use crate::{Call, CallResult, FunctionId, HandleMap};

/// Follows the application's files, for a layer that wants to know which one a call reads or writes. The layer passes its calls
/// [through](Self::around).
///
/// ```
/// use mpi_tool_layer::{Call, CallResult, Files, MpiInterceptionLayer};
///
/// /// Says which files are written.
/// struct Written(Files);
///
/// impl MpiInterceptionLayer for Written {
///     fn around<'c>(
///         &self, call: impl Call<'c>, next_f: impl FnOnce() -> CallResult<'c>,
///     ) -> CallResult<'c> {
///         if let Some(name) = self.0.name_of(call) {
///             eprintln!("{} of {name} at {:?}", call.function(), call.offset());
///         }
///         self.0.around(call, next_f)
///     }
/// }
/// ```
#[derive(Debug, Default)]
pub struct Files(HandleMap<Arc<str>>);

impl Files {
    /// None is known yet.
    pub const fn new() -> Self {
        Self(HandleMap::new())
    }

    /// Passes a call on, and notes the file that it opens or closes. Costs nothing but for `MPI_File_open` and `MPI_File_close`.
    #[inline(always)]
    pub fn around<'c>(
        &self,
        call: impl Call<'c>,
        next_f: impl FnOnce() -> CallResult<'c>,
    ) -> CallResult<'c> {
        match call.function() {
            FunctionId::MPI_File_open => {
                let accepted = next_f()?;
                let file: Option<*const MPI_File> = call.get(FH);
                // SAFETY: MPI has written a handle there: it has accepted the call, which has not returned.
                if let (Some(name), Some(file)) = (opened(call), file.map(|file| unsafe { *file }))
                {
                    self.0.insert(file, name);
                }
                Ok(accepted)
            }
            FunctionId::MPI_File_close => {
                // SAFETY: the first parameter must be the address of a file: it is this function's only one.
                let file: Option<MPI_File> = unsafe { freed(call) };
                let name = file.and_then(|file| Some((file, self.0.remove(file)?)));
                let result = next_f();
                // It is still there.
                if let (Err(_), Some((file, name))) = (&result, name) {
                    self.0.insert(file, name);
                }
                result
            }
            _ => next_f(),
        }
    }

    /// The name of the call's file, as it was opened: also of `MPI_File_open` itself, and of `MPI_File_close`. To be asked
    /// before the call is passed on.
    pub fn name_of<'c>(&self, call: impl Call<'c>) -> Option<Arc<str>> {
        match call.function() {
            FunctionId::MPI_File_open => opened(call),
            // SAFETY: as above.
            FunctionId::MPI_File_close => self.0.get(unsafe { freed::<MPI_File>(call) }?),
            _ => self.0.get(call.file()?.raw()),
        }
    }
}

/// The parameters of `MPI_File_open` with the name, and with the address of the new handle.
const FILENAME: u8 = 1;
const FH: u8 = 4;

/// The name that `MPI_File_open` is given.
fn opened<'c>(call: impl Call<'c>) -> Option<Arc<str>> {
    let name: *const c_char = call.get(FILENAME)?;
    // SAFETY: a C string must be there: the application passes a name, as the standard asks, which MPI reads in this call.
    (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) }.to_string_lossy().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parameters_are_those_of_the_list() {
        let names = FunctionId::MPI_File_open.parameters().iter().map(|one| one.name());
        assert_eq!(names.collect::<Vec<_>>(), ["comm", "filename", "amode", "info", "fh"]);
    }
}
