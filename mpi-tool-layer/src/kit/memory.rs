//! Memory of the program that may not be there: an address that a program has passed may lead nowhere.

use core::ffi::c_void;

use crate::Word as _;

/// Copies memory of this process: by the kernel, which finds out whether it is there (`process_vm_readv`). `None` if not all
/// of it can be read, or if the system does not allow that.
pub fn copy_memory(from: u64, to: &mut [u8]) -> Option<&[u8]> {
    let length = to.len();
    let local = libc::iovec { iov_base: to.as_mut_ptr().cast(), iov_len: length };
    let remote = libc::iovec { iov_base: <*mut c_void>::from_word(from), iov_len: length };
    // SAFETY: `process_vm_readv` takes two lists of one `iovec` each, which these are, and memory to write to: `to`, of
    // which it writes `length` bytes at most. The address that it reads from the kernel checks itself.
    let copied = unsafe { libc::process_vm_readv(libc::getpid(), &local, 1, &remote, 1, 0) };
    (usize::try_from(copied) == Ok(length)).then_some(to)
}

/// The text at an address: a C string in UTF-8, not empty, without control characters, and of at most so many bytes with its
/// end.
pub(crate) fn text_at(address: u64, most: usize) -> Option<String> {
    let text = String::from_utf8(bytes_at(address, most)?).ok()?;
    (!text.is_empty() && !text.contains(char::is_control)).then_some(text)
}

/// The bytes of a C string at an address, without its end: of at most so many bytes with it. `None` if it is not there.
pub(crate) fn bytes_at(address: u64, most: usize) -> Option<Vec<u8>> {
    /// What lies in one page is there or not as a whole.
    const PAGE: u64 = 4096;
    let mut bytes = Vec::new();
    while bytes.len() < most {
        let at = address.checked_add(bytes.len() as u64)?;
        let mut piece = [0; 64];
        let length = piece.len().min(most - bytes.len()).min((PAGE - at % PAGE) as usize);
        let piece = copy_memory(at, &mut piece[..length])?;
        let end = piece.iter().position(|byte| *byte == 0);
        bytes.extend(&piece[..end.unwrap_or(length)]);
        if end.is_some() {
            return Some(bytes);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> Option<String> {
        text_at(bytes.as_ptr().addr() as u64, 16)
    }

    #[test]
    fn only_short_texts_are_texts() {
        assert_eq!(text(b"solver\0xyz0123456"), Some("solver".to_owned()));
        assert_eq!(text("Löser\0xyz01234567".as_bytes()), Some("Löser".to_owned()));
        assert_eq!(text(b"0123456789abcde\0"), Some("0123456789abcde".to_owned()));
        for other in [
            &b"\0solver0123456789"[..],
            b"0123456789abcdef\0",
            b"new\nline\0........",
            b"\xff\xfe\0.............",
        ] {
            assert_eq!(text(other), None, "{other:?}");
        }
    }

    /// Memory that is not there is no text, and what ends in the last byte before it is one.
    #[test]
    fn memory_that_is_not_there_is_left_alone() {
        assert_eq!(
            [0, 1, 8, u64::MAX - 3, u64::MAX].map(|at| text_at(at, 16)),
            [const { None }; 5]
        );
        // SAFETY: the calls map two pages where nothing is, and unmap the second of them again. Nobody else has an address
        // in these. The bytes are written to the first one, which can be written to.
        let page = unsafe {
            let pages = libc::mmap(
                core::ptr::null_mut(),
                8192,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            assert_ne!(pages, libc::MAP_FAILED);
            assert_eq!(libc::munmap(pages.byte_add(4096), 4096), 0);
            let end = pages.byte_add(4096 - 4).cast::<[u8; 4]>();
            end.write(*b"abc\0");
            pages.addr() as u64
        };
        assert_eq!(text_at(page + 4096 - 4, 16), Some("abc".to_owned()));
        assert_eq!(text_at(page + 4096 - 4, 3), None);
        // SAFETY: as above: the first page is mapped still.
        unsafe { libc::munmap(core::ptr::with_exposed_provenance_mut(page as usize), 4096) };
    }
}
