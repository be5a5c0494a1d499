//! What a process has in its memory, as `/proc/PID/maps` says it.

use std::ops::Range;

/// A part of a process's memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mapping {
    pub(super) addresses: Range<u64>,
    pub(super) is_code: bool,
    /// Where it begins in its file.
    pub(super) offset: u64,
    /// Of its file: the device's two numbers, and the file's own.
    pub(super) device: (u32, u32),
    pub(super) inode: u64,
    /// The file's path, `[stack]`, `[vdso]`, or nothing.
    pub(super) path: String,
    /// The file has been removed, or another one has its name now.
    pub(super) is_deleted: bool,
}

/// All parts, in the order of their addresses.
pub(super) fn parse(text: &str) -> Vec<Mapping> {
    text.lines().filter_map(mapping).collect()
}

/// `7f00-7f80 r-xp 00001000 08:01 4711   /lib/a b.so (deleted)`
fn mapping(line: &str) -> Option<Mapping> {
    let mut rest = line;
    let mut word = || {
        let (word, behind) = rest.trim_start().split_once(' ').unwrap_or((rest.trim_start(), ""));
        rest = behind;
        word
    };
    let (addresses, rights, offset, device, inode) = (word(), word(), word(), word(), word());
    let hex = |digits: &str| u64::from_str_radix(digits, 16).ok();
    let (start, end) = addresses.split_once('-')?;
    let (major, minor) = device.split_once(':')?;
    let device = |digits: &str| u32::from_str_radix(digits, 16).ok();
    let path = rest.trim_start();
    let (path, is_deleted) = match path.strip_suffix(" (deleted)") {
        Some(path) => (path, true),
        None => (path, false),
    };
    Some(Mapping {
        addresses: hex(start)?..hex(end)?,
        is_code: rights.as_bytes().get(2) == Some(&b'x'),
        offset: hex(offset)?,
        device: (device(major)?, device(minor)?),
        inode: inode.parse().ok()?,
        path: path.to_owned(),
        is_deleted,
    })
}

#[cfg(test)]
mod tests {
    use super::{Mapping, parse};

    #[test]
    fn lines_of_maps_are_understood() {
        let text = "\
55d0c0000000-55d0c0002000 r-xp 00001000 fe:01 4711                       /b/a program
7ffd0000f000-7ffd00030000 rw-p 00000000 00:00 0                          [stack]
7f0000000000-7f0000001000 rw-p 00000000 00:00 0
7f0000001000-7f0000002000 r-xp 00000000 00:2d 12   /l/old.so (deleted)
nonsense
";
        let part = |addresses, is_code, offset, device, inode, path: &str, is_deleted| Mapping {
            addresses,
            is_code,
            offset,
            device,
            inode,
            path: path.into(),
            is_deleted,
        };
        assert_eq!(
            parse(text),
            [
                part(
                    0x55d0c0000000..0x55d0c0002000,
                    true,
                    0x1000,
                    (0xfe, 1),
                    4711,
                    "/b/a program",
                    false
                ),
                part(0x7ffd0000f000..0x7ffd00030000, false, 0, (0, 0), 0, "[stack]", false),
                part(0x7f0000000000..0x7f0000001000, false, 0, (0, 0), 0, "", false),
                part(0x7f0000001000..0x7f0000002000, true, 0, (0, 0x2d), 12, "/l/old.so", true),
            ]
        );
    }
}
