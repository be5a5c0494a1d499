//! The trace files of `mpi-trace`: where each number stands, for the tool that writes them and the program that reads
//! them.
//!
//! A process has one file. It begins with a header of 64-bit words in the processor's order, [`HEADER`] bytes. Behind it
//! lie *chunks*, one after the other, each of a length that is a multiple of [`PAGE`]: a few words ([`chunk`]) and then
//! records. A chunk is a thread's, or it has definitions ([`define`]). It is written with plain stores, and
//! [`chunk::USED`] grows when a record is whole, so a file is whole at any moment, also when the process is killed.
//!
//! # Records
//!
//! Numbers are in LEB128, signed ones in zigzag order first. A record begins with its kind:
//!
//! * [`STARTS`] says that the next call starts a persistent operation.
//! * [`FOUND`] says that the next call, a probe, has found a message, and [`MATCHED`] that the next call receives the
//!   message of an earlier one that has matched it. [`ENDS`] says that the next call completes a send that does not block.
//! * Other kinds below [`CALL`] are pieces of data that has moved ([`Moved`]). It belongs to the next call in the thread's
//!   records, in which it moved, and tells of that call's own data or of those of an operation that an earlier call has
//!   started.
//! * From [`CALL`] on it is a call that is over. The kind less [`CALL`] is the function, by its number in this file.
//!   The calls of a thread have numbers from 0. There follow: the beginning, as a signed distance from the end of the
//!   thread's call before it; the duration, doubled, plus 1 if MPI has refused the call; then, as far as the function has
//!   them ([`Fields`]), the communicator's number in this file, the tags of what is sent and received, the source as it
//!   was asked for, the destination, and the root; and last, in files that have [call sites](header::DEPTH), the number of the
//!   call's site, or 0. No call repeats in these files.
//! * [`DEFINES`] gives a number to a function with all these arguments, for calls of the thread that come later: the number,
//!   the function's kind, the arguments as in a call's record, how many pieces of data such a call moves, at most
//!   [`MOST_MOVED`], and these, each as a record.
//! * [`REPEATS`] is such a call again, one that has moved the same and that MPI has accepted. It has [`REPEAT`] bytes, so that
//!   it is written in a few instructions: the kind, the number that was given, in three bytes, and the lowest four bytes of
//!   the beginning and of the end, which are not shifted. All have their lowest byte first. The next such times are meant
//!   after the end of the thread's call before it.
//! * [`DEFINES_DATA`] gives a number to data that arrive for a call that [repeats](REPEATS), in a later call: the number, of the
//!   same count, the number of the call that repeats, and the data, as a record of a piece of the call's own.
//! * [`REPEATS_DATA`] is such data again, for the last call of the thread that has repeated so, in [`REPEATED_DATA`] bytes: the
//!   kind and the number, as in [`REPEATS`]. Like all data it belongs to the next call.
//! * [`WAITS`] is a call of `MPI_Wait` in which such data arrive, with the data's number and as long as [`REPEATS`].
//!
//! A call inside of another one ends first, and so stands before it.
//!
//! Times are the clock's ticks. Those in LEB128 are shifted to the right by [`header::SHIFT`]: a distance is one of shifted
//! times, and a duration one that begins and ends at shifted times. A chunk begins with the time from which its first
//! distance counts, not shifted.

mod hidden;
mod places;

pub use hidden::{Hidden, is_synchronous, receives_taken, takes, tells_what_it_finds};
pub use places::{chunk, define, filter, header};

use crate::{FunctionId, NONE, Shape};

/// The first word: `MPITRACE`.
pub const MAGIC: u64 = u64::from_le_bytes(*b"MPITRACE");
/// Which layout this is. It becomes another one whenever something here does.
pub const VERSION: u64 = 5;
/// How a file's name ends.
pub const EXTENSION: &str = "trace";
/// A number that is not known.
pub const UNKNOWN: u64 = u64::MAX;
/// The length of the header, in bytes.
pub const HEADER: usize = PAGE;
/// What lengths of chunks are multiples of, in bytes.
pub const PAGE: usize = 4096;

/// The kind of record that says that the next call starts a persistent operation: the thread and the number of the call
/// that has made its request.
pub const STARTS: u64 = 7;

/// The kind of record that gives a number to a function with its arguments.
pub const DEFINES: u64 = 8;

/// The kind of record that is a call of a function with arguments that have a number.
pub const REPEATS: u64 = 9;

/// The length of such a record, in bytes.
pub const REPEAT: usize = 12;

/// Numbers of functions with their arguments are less than this. A thread gives each once.
pub const MOST_DEFINED: u32 = 1 << 24;

/// How many pieces of data a call may move that has such a number.
pub const MOST_MOVED: usize = 2;

/// The first bytes of a record of a call with a number: kind and number.
pub const fn first_of_repeat(number: u32) -> u32 {
    REPEATS as u32 | number << 8
}

/// All bytes of a record of data with a number: kind and number.
pub const fn repeated_data(number: u32) -> u32 {
    REPEATS_DATA as u32 | number << 8
}

/// The first bytes of a record of a call of `MPI_Wait` in which these arrive.
pub const fn first_of_wait(number: u32) -> u32 {
    WAITS as u32 | number << 8
}

/// The number in such bytes, and in those of a call.
pub const fn number_of_repeat(first: u32) -> u32 {
    first >> 8
}

/// Bytes of a record of a call with a number.
#[inline(always)]
pub fn put_repeat(bytes: &mut [u8; LONGEST], first: u32, begin: u32, end: u32) {
    bytes[..4].copy_from_slice(&first.to_le_bytes());
    bytes[4..8].copy_from_slice(&begin.to_le_bytes());
    bytes[8..REPEAT].copy_from_slice(&end.to_le_bytes());
}

/// The kind of record that says that the next call, a probe, has found a message: its sender, as in a piece of data, and
/// its tag.
pub const FOUND: u64 = 10;

/// The kind of record that says that the next call receives a message that was matched before: the thread and the number
/// of the call that has done so.
pub const MATCHED: u64 = 11;

/// The kind of record that says that a send that does not block is complete in the next call: the thread and the number of the
/// call that has started or prepared it, and how many requests the completing call was given that are not null. Of short
/// sends it is not said, but of [synchronous](is_synchronous) ones.
pub const ENDS: u64 = 12;

/// Sends of fewer bytes than this are short: MPI takes them as a rule before anybody receives them.
pub const SHORT: u64 = 1024;

/// The kind of record that gives a number to data that arrive for a call that repeats.
pub const DEFINES_DATA: u64 = 13;

/// The kind of record that is data with a number.
pub const REPEATS_DATA: u64 = 14;

/// The length of such a record, in bytes.
pub const REPEATED_DATA: usize = 4;

/// The kind of record that is a call of `MPI_Wait` in which data with a number arrive.
pub const WAITS: u64 = 15;

/// The first kind of record that is a call.
pub const CALL: u64 = 16;

/// No record is longer, in bytes.
pub const LONGEST: usize = 128;

/// A piece of data that has moved, as a record: kind, if it is of an earlier call that one's thread and number, the peer,
/// if it was received the message's tag as a status said it (doubled and zigzag, plus 1; 0 if none did, or
/// if the call's own data have the tag that the call has named), and the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moved {
    /// Which way.
    pub way: Way,
    /// The thread and the number of the call that has started the operation; `None` of the call's own data.
    pub of: Option<(u64, u64)>,
    /// With whom.
    pub peer: Partner,
    /// The tag that a status has told of.
    pub tag: Option<i64>,
    /// How much.
    pub bytes: u64,
}

/// Which way data go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// From this process.
    Sent,
    /// To it.
    Received,
    /// Into a reduction.
    Reduced,
}

/// With whom data move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Partner {
    /// With no process in particular.
    Nobody,
    /// A process that is not in this world.
    Outside,
    /// Nobody knows.
    Unknown,
    /// A process, as its rank in the world less the own one.
    At(i64),
}

/// Writes a record.
#[derive(Debug)]
pub struct Writer<'a> {
    bytes: &'a mut [u8; LONGEST],
    length: usize,
}

impl<'a> Writer<'a> {
    /// Into this memory, from its beginning.
    #[inline(always)]
    pub const fn new(bytes: &'a mut [u8; LONGEST]) -> Self {
        Self { bytes, length: 0 }
    }

    /// How many bytes were written.
    #[inline(always)]
    pub const fn length(&self) -> usize {
        self.length
    }

    /// A number. What finds no room is left out, which cannot be in a record that this module describes.
    ///
    /// Numbers of one and two bytes, which most are, are written in place.
    #[inline(always)]
    pub fn put(&mut self, number: u64) {
        if number < 0x80 {
            self.put_byte(number as u8);
        } else if number < 0x4000
            && let Some([low, high]) = self.bytes.get_mut(self.length..self.length + 2)
        {
            *low = number as u8 | 0x80;
            *high = (number >> 7) as u8;
            self.length += 2;
        } else {
            self.length += long(self.bytes, self.length, number);
        }
    }

    /// The first `count` bytes of a word, eight at most, the lowest one first: numbers below 0x80.
    #[inline(always)]
    pub fn put_small(&mut self, word: u64, count: usize) {
        if let Some(place) = self.bytes.get_mut(self.length..self.length + 8) {
            place.copy_from_slice(&word.to_le_bytes());
            self.length += count;
        }
    }

    /// A number with a sign.
    #[inline(always)]
    pub fn put_signed(&mut self, number: i64) {
        self.put(zigzag(number));
    }

    /// A byte of a text.
    #[inline(always)]
    pub fn put_byte(&mut self, byte: u8) {
        if let Some(place) = self.bytes.get_mut(self.length) {
            *place = byte;
            self.length += 1;
        }
    }

    /// With whom data move.
    #[inline(always)]
    pub fn put_partner(&mut self, partner: Partner) {
        self.put(match partner {
            Partner::Nobody => 0,
            Partner::Outside => 1,
            Partner::Unknown => 2,
            Partner::At(distance) => 3 + zigzag(distance),
        });
    }

    /// A piece of data.
    #[inline(always)]
    pub fn put_moved(&mut self, moved: &Moved) {
        let way = match moved.way {
            Way::Sent => 0,
            Way::Received => 1,
            Way::Reduced => 2,
        };
        self.put(1 + way + if moved.of.is_some() { 3 } else { 0 });
        if let Some((thread, number)) = moved.of {
            self.put(thread);
            self.put(number);
        }
        self.put_partner(moved.peer);
        if moved.way == Way::Received {
            self.put(moved.tag.map_or(0, |tag| zigzag(tag) + 1));
        }
        self.put(moved.bytes);
    }
}

/// Writes a number of any length at a place; returns how many bytes it has taken.
#[inline(never)]
fn long(bytes: &mut [u8; LONGEST], at: usize, mut number: u64) -> usize {
    let mut length = 0;
    for place in bytes.get_mut(at..).into_iter().flatten() {
        length += 1;
        if number < 0x80 {
            *place = number as u8;
            break;
        }
        *place = number as u8 | 0x80;
        number >>= 7;
    }
    length
}

/// A number with a sign as one without, small if it is near 0.
#[inline(always)]
pub const fn zigzag(number: i64) -> u64 {
    (number.cast_unsigned() << 1) ^ (number >> 63).cast_unsigned()
}

/// The other way round.
const fn unzigzag(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
}

/// Reads numbers, from bytes that may be damaged: `None` where there is none.
#[derive(Debug, Clone)]
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// At the beginning.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Is nothing left?
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A number.
    pub fn number(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    /// All that is left.
    pub const fn rest(self) -> &'a [u8] {
        self.0
    }

    /// A number with a sign.
    pub fn signed(&mut self) -> Option<i64> {
        self.number().map(unzigzag)
    }

    /// So many bytes.
    pub fn bytes(&mut self, count: u64) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(usize::try_from(count).ok()?)?;
        self.0 = rest;
        Some(bytes)
    }

    /// The rest of a call with a number, behind its kind, if the call before it has ended at `last`: the number, the beginning,
    /// and the end.
    pub fn repeat(&mut self, last: u64) -> Option<(u32, u64, u64)> {
        let number = self.number_of_repeat()?;
        let (begin, end) = self.bytes(REPEAT as u64 - 4)?.split_first_chunk()?;
        let after = |low: [u8; 4]| {
            last.wrapping_add(u32::from_le_bytes(low).wrapping_sub(last as u32).into())
        };
        let (begin, end) = (after(*begin), after(end.try_into().ok()?));
        Some((number, begin, end.max(begin)))
    }

    /// The number in a record of a call or of data with a number, behind the kind.
    pub fn number_of_repeat(&mut self) -> Option<u32> {
        let number = self.bytes(3)?;
        Some(u32::from_le_bytes([number[0], number[1], number[2], 0]))
    }

    /// With whom data move.
    pub fn partner(&mut self) -> Option<Partner> {
        Some(match self.number()? {
            0 => Partner::Nobody,
            1 => Partner::Outside,
            2 => Partner::Unknown,
            distance => Partner::At(unzigzag(distance - 3)),
        })
    }

    /// The rest of a piece of data, behind its kind.
    pub fn moved(&mut self, kind: u64) -> Option<Moved> {
        let kind = kind.checked_sub(1).filter(|kind| *kind < 6)?;
        let way = [Way::Sent, Way::Received, Way::Reduced][kind as usize % 3];
        let of = if kind < 3 { None } else { Some((self.number()?, self.number()?)) };
        let peer = self.partner()?;
        let tag = if way == Way::Received { self.number()? } else { 0 };
        let bytes = self.number()?;
        Some(Moved { way, of, peer, tag: tag.checked_sub(1).map(unzigzag), bytes })
    }
}

/// What a call's record says of its arguments: which of these the function has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fields {
    /// A communicator.
    pub communicator: bool,
    /// A tag; of what is sent, if there are two.
    pub tag: bool,
    /// Another tag, of what is received.
    pub received_tag: bool,
    /// A source.
    pub source: bool,
    /// A destination, or a target.
    pub destination: bool,
    /// A root.
    pub root: bool,
}

impl Fields {
    /// Of a function.
    #[inline(always)]
    pub fn of(function: FunctionId) -> Self {
        Self::of_shape(Shape::looked_up(function))
    }

    /// Of a function with this shape.
    #[inline(always)]
    pub const fn of_shape(shape: &Shape) -> Self {
        Self {
            communicator: shape.communicator != NONE,
            tag: shape.tags.0 != NONE,
            received_tag: shape.tags.0 != NONE && shape.tags.1 != shape.tags.0,
            source: shape.source != NONE,
            destination: shape.destination != NONE || shape.target != NONE,
            root: shape.root != NONE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        let numbers = [0, 1, 127, 128, 300, 0x3fff, 0x4000, 1 << 32, u64::MAX];
        let signed = [0, -1, 1, i64::MIN, i64::MAX, -70000];
        let mut bytes = [0; LONGEST];
        let mut writer = Writer::new(&mut bytes);
        numbers.into_iter().for_each(|number| writer.put(number));
        signed.into_iter().for_each(|number| writer.put_signed(number));
        let length = writer.length();
        let mut reader = Reader::new(&bytes[..length]);
        assert_eq!(numbers.map(|_| reader.number().unwrap()), numbers);
        assert_eq!(signed.map(|_| reader.signed().unwrap()), signed);
        assert_eq!(reader.number(), None);
    }

    #[test]
    fn small_numbers_come_back_from_a_word() {
        let mut bytes = [0xff; LONGEST];
        let mut writer = Writer::new(&mut bytes);
        writer.put_small(0x7f_0001, 3);
        writer.put(300);
        let length = writer.length();
        let mut reader = Reader::new(&bytes[..length]);
        assert_eq!([0; 4].map(|_| reader.number()), [Some(1), Some(0), Some(127), Some(300)]);
        assert!(reader.is_empty());
    }

    /// A record that is too long is cut, and nothing is written outside of it.
    #[test]
    fn what_finds_no_room_is_left_out() {
        let mut bytes = [0; LONGEST];
        let mut writer = Writer::new(&mut bytes);
        for _ in 0..LONGEST {
            writer.put(u64::MAX);
            writer.put(300);
            writer.put_small(1, 8);
        }
        assert!(writer.length() <= LONGEST);
    }

    #[test]
    fn data_come_back() {
        let peers = [Partner::Nobody, Partner::Outside, Partner::Unknown, Partner::At(-5)];
        for (way, peer) in [Way::Sent, Way::Received, Way::Reduced].into_iter().zip(peers) {
            for of in [None, Some((3, 70_000))] {
                let tag = (way == Way::Received).then_some(-1);
                let moved = Moved { way, of, peer, tag, bytes: 1 << 40 };
                let mut bytes = [0; LONGEST];
                let mut writer = Writer::new(&mut bytes);
                writer.put_moved(&moved);
                let length = writer.length();
                let mut reader = Reader::new(&bytes[..length]);
                let kind = reader.number().unwrap();
                assert!(kind < CALL);
                assert_eq!(reader.moved(kind), Some(moved));
                assert!(reader.is_empty());
            }
        }
    }

    #[test]
    fn a_call_with_a_number_comes_back() {
        let mut bytes = [0xff; LONGEST];
        let first = first_of_repeat(0x01_0203);
        assert_eq!(number_of_repeat(first), 0x01_0203);
        put_repeat(&mut bytes, first, u32::MAX - 1, 7);
        let mut reader = Reader::new(&bytes[..REPEAT]);
        assert_eq!(reader.number(), Some(REPEATS));
        let last = (5 << 32) - 10;
        assert_eq!(reader.repeat(last), Some((0x01_0203, last + 8, last + 17)));
        assert!(reader.is_empty());
        assert_eq!(Reader::new(&bytes[1..REPEAT - 1]).repeat(0), None);
    }

    #[test]
    fn data_with_a_number_come_back() {
        let bytes = repeated_data(0x01_0203).to_le_bytes();
        assert_eq!(bytes.len(), REPEATED_DATA);
        let mut reader = Reader::new(&bytes);
        assert_eq!(reader.number(), Some(REPEATS_DATA));
        assert_eq!(reader.number_of_repeat(), Some(0x01_0203));
        assert!(reader.is_empty());
        assert_eq!(Reader::new(&bytes[2..]).number_of_repeat(), None);
    }

    #[test]
    fn damaged_bytes_are_no_numbers() {
        assert_eq!(Reader::new(&[0xff; 11]).number(), None);
        assert_eq!(Reader::new(&[0x80]).number(), None);
        assert_eq!(Reader::new(&[]).signed(), None);
        assert_eq!(Reader::new(&[1, 2]).bytes(3), None);
        assert_eq!(Reader::new(&[0, 0]).moved(7), None);
    }

    /// [`WAITS`] need not say which function it is.
    #[test]
    fn one_function_waits_for_one_request() {
        let all = FunctionId::all().filter(|function| !function.is_large_count());
        let waits: Vec<_> = all.filter(|function| Shape::of(*function).waits_for_one()).collect();
        assert_eq!(waits, [FunctionId::MPI_Wait]);
    }

    /// What the standard says of these functions.
    #[test]
    fn fields_are_those_of_the_functions() {
        let of = |function: FunctionId| {
            let Fields { communicator, tag, received_tag, source, destination, root } =
                Fields::of(function);
            [communicator, tag, received_tag, source, destination, root].map(u8::from)
        };
        assert_eq!(of(FunctionId::MPI_Send), [1, 1, 0, 0, 1, 0]);
        assert_eq!(of(FunctionId::MPI_Sendrecv), [1, 1, 1, 1, 1, 0]);
        assert_eq!(of(FunctionId::MPI_Irecv), [1, 1, 0, 1, 0, 0]);
        assert_eq!(of(FunctionId::MPI_Bcast), [1, 0, 0, 0, 0, 1]);
        assert_eq!(of(FunctionId::MPI_Put), [0, 0, 0, 0, 1, 0]);
        assert_eq!(of(FunctionId::MPI_Waitall), [0; 6]);
    }
}
