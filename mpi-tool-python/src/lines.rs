//! The line of an instruction, by the table that a code object has.

/// Since 3.11: `InternalDocs/code_objects.md` of CPython. `None` of an instruction that has no line, or is not in the table.
pub(crate) fn by_locations(table: &[u8], first_line: i32, instruction: u64) -> Option<u32> {
    let mut line = i64::from(first_line);
    let mut begin = 0_u64;
    let mut rest = table;
    while let [head, behind @ ..] = rest {
        if head & 0x80 == 0 {
            return None;
        }
        // Up to the next entry, which begins with a high bit.
        let length = behind.iter().position(|byte| byte & 0x80 != 0).unwrap_or(behind.len());
        let entry = &behind[..length];
        let has_line = match head >> 3 & 15 {
            15 => false,
            code @ 10..=12 => {
                line += i64::from(code) - 10;
                true
            }
            13 | 14 => {
                line += signed(entry)?;
                true
            }
            _ => true,
        };
        let end = begin + 2 * u64::from((head & 7) + 1);
        if (begin..end).contains(&instruction) {
            return u32::try_from(line).ok().filter(|_| has_line);
        }
        begin = end;
        rest = &behind[length..];
    }
    None
}

/// A number of several bytes, six bits each, the lowest first; the lowest bit is the sign.
fn signed(bytes: &[u8]) -> Option<i64> {
    let mut value = 0_u64;
    for (at, byte) in bytes.iter().enumerate().take(8) {
        value |= u64::from(byte & 0x3f) << (6 * at);
        if byte & 0x40 == 0 {
            let half = (value >> 1).cast_signed();
            return Some(if value & 1 == 1 { -half } else { half });
        }
    }
    None
}

/// Of 3.10: `Objects/lnotab_notes.txt` of that version. Pairs of a length and a step.
pub(crate) fn by_lengths(table: &[u8], first_line: i32, instruction: u64) -> Option<u32> {
    let mut line = i64::from(first_line);
    let mut begin = 0_u64;
    for pair in table.chunks_exact(2) {
        let step = pair[1].cast_signed();
        let end = begin + u64::from(pair[0]);
        if step != i8::MIN {
            line += i64::from(step);
        }
        if (begin..end).contains(&instruction) {
            return u32::try_from(line).ok().filter(|_| step != i8::MIN);
        }
        begin = end;
    }
    None
}

/// Of 3.9: `Objects/lnotab_notes.txt` of that version. Pairs of a distance and a step.
pub(crate) fn by_steps(table: &[u8], first_line: i32, instruction: u64) -> Option<u32> {
    let mut line = i64::from(first_line);
    let mut at = 0_u64;
    for pair in table.chunks_exact(2) {
        at += u64::from(pair[0]);
        if at > instruction {
            break;
        }
        line += i64::from(pair[1].cast_signed());
    }
    u32::try_from(line).ok()
}

#[cfg(test)]
mod tests {
    use super::{by_lengths, by_locations, by_steps};

    /// By the description: a short form of 2 units; one line further, 1 unit; 70 lines further in two bytes, 1 unit; no line, 1 unit; 3 lines back.
    #[test]
    fn locations_are_understood() {
        // 70 is 140 without sign: 12 + 2 * 64.
        let table = [
            0x80 | 1,
            0,
            0x80 | 11 << 3,
            4,
            9,
            0x80 | 13 << 3,
            0x4c,
            2,
            0x80 | 15 << 3,
            0x80 | 14 << 3,
            7,
            0,
            1,
            1,
        ];
        let line = |at| by_locations(&table, 10, at);
        let lines = [0, 2, 4, 6, 8, 10, 12].map(line);
        assert_eq!(lines, [Some(10), Some(10), Some(11), Some(81), None, Some(78), None]);
        // Tables that end too early, or begin in the middle.
        assert_eq!(by_locations(&table[..6], 10, 6), None);
        assert_eq!(by_locations(&[4, 0x80], 10, 0), None);
        assert_eq!(by_locations(&[], 10, 0), None);
    }

    #[test]
    fn older_tables_are_understood() {
        // The examples of the notes: lines 1, 2, 7 (with a step of 350 lines in three parts), and no line in between.
        let table = [0, 1, 6, 1, 44, 127, 0, 127, 0, 96, 6, 1];
        let line = |at| by_steps(&table, 0, at);
        assert_eq!([0, 4, 6, 48, 50, 56, 500].map(line), [1, 1, 2, 2, 352, 353, 353].map(Some));
        let table = [6, 0, 50, 1, 0, 127, 4, 100, 6, 0x80, 2, 0xff];
        let line = |at| by_lengths(&table, 1, at);
        assert_eq!(
            [0, 6, 54, 56, 60, 66, 68].map(line),
            [Some(1), Some(2), Some(2), Some(229), None, Some(228), None]
        );
    }
}
