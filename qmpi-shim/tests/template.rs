//! Which code of a tool `libqmpi.so` copies, and that it reads nothing behind what there is.

#[path = "../src/template.rs"]
mod template;

use template::Template;

/// Encodings by the processor's manual, and GNU as: `test rdi, rdi; je +2; inc qword ptr [rip + 0x100];
/// jmp [rax]`, and what a linker puts behind a function.
static WHOLE: [u8; 17] =
    [0x48, 0x85, 0xff, 0x74, 0x02, 0x48, 0xff, 0x05, 0, 1, 0, 0, 0xff, 0x20, 0xcc, 0xcc, 0xcc];

/// Up to the jump to the next function.
const LENGTH: usize = 14;

#[test]
fn code_is_copied_up_to_its_jump() {
    let template = Template::of(&WHOLE).expect("it ends with a jump");
    // The short jump has become a long one, which leads to the code that is copied.
    let mut copy = WHOLE[..3].to_vec();
    copy.extend([0x0f, 0x84, 0, 0, 0, 0]);
    copy.extend(&WHOLE[5..LENGTH]);
    assert_eq!(template.code, copy);
    let at = |offset: usize| WHOLE.as_ptr().addr() + offset;
    let distances = template.distances.iter();
    let distances: Vec<_> =
        distances.map(|distance| (distance.offset, distance.end, distance.target.addr())).collect();
    assert_eq!(distances, [(5, 9, at(5 + 2)), (12, 16, at(12 + 0x100))]);
}

/// At the end of a tool's code there is no more to be read.
#[test]
fn code_that_is_cut_off_is_not_copied() {
    assert!(Template::of(&WHOLE[..LENGTH]).is_some());
    for length in 0..LENGTH {
        assert!(Template::of(&WHOLE[..length]).is_none(), "{length}");
    }
}
