//! Keys and values of info objects.

use mpi_tool_layer::mpi_sys::{
    MPI_Info, MPI_MAX_INFO_KEY, MPI_MAX_INFO_VAL, MPI_SUCCESS, c_char, pmpi,
};
use mpi_tool_layer::{Call as _, FunctionId, Word};

use super::Checked;
use crate::objects::{self, Kind};

impl Checked<'_> {
    pub(super) fn check_info(&mut self) {
        use FunctionId::{MPI_Info_delete, MPI_Info_get_nthkey, MPI_Info_set};
        match self.function {
            MPI_Info_set => {
                self.check_text(1, "key", MPI_MAX_INFO_KEY as usize);
                self.check_text(2, "value", MPI_MAX_INFO_VAL as usize);
            }
            MPI_Info_get_nthkey => self.check_number_of_key(),
            MPI_Info_delete => self.check_key_is_there(),
            _ => {}
        }
    }

    /// A key must not be empty. The greatest lengths count the byte at the end or not, as MPIs read the standard: what is
    /// longer is too long for all.
    fn check_text(&mut self, position: usize, what: &str, most: usize) {
        let address = self.call.words()[position];
        if address == 0 {
            return;
        }
        // SAFETY: the text must end with a zero, as MPI, which the call goes to next, reads it up to that.
        let length = unsafe { libc::strnlen(<*const c_char>::from_word(address), most + 1) };
        if length > most {
            self.wrong(what, &format!("the {what} has more than {most} characters"), None);
        } else if length == 0 && what == "key" {
            self.wrong(what, "the key is empty", None);
        }
    }

    /// The info object of the call, if MPI may be asked about it.
    fn info(&self) -> Option<MPI_Info> {
        let info = self.call.words()[0];
        objects::is_there(Kind::Info, info).then(|| MPI_Info::from_word(info))
    }

    fn check_number_of_key(&mut self) {
        let Some(info) = self.info() else { return };
        let (number, mut keys) = (self.call.words()[1] as i64, 0);
        // SAFETY: the function wants a valid info object, and writes one `int`. This one is predefined, or MPI has made it, and
        // the application has not freed it.
        let code = unsafe { pmpi::MPI_Info_get_nkeys(info, &mut keys) };
        if code == MPI_SUCCESS && !(0..i64::from(keys)).contains(&number) {
            let message = format!("n is {number}, but the info object has {keys} keys");
            self.wrong("n", &message, None);
        }
    }

    fn check_key_is_there(&mut self) {
        let (Some(info), key) = (self.info(), self.call.words()[1]) else { return };
        if key == 0 {
            return;
        }
        let (mut length, mut is_there) = (0, 1);
        // SAFETY: the function wants a valid info object and a text, and writes two `int`s. The info object is predefined, or MPI
        // has made it, and the application has not freed it; the text is the key that MPI, which the call goes to next, reads.
        let code = unsafe {
            let key = <*const c_char>::from_word(key);
            pmpi::MPI_Info_get_valuelen(info, key, &mut length, &mut is_there)
        };
        if code == MPI_SUCCESS && is_there == 0 {
            self.wrong("key", "the info object does not have the key", None);
        }
    }
}
