//! Values go on as the bits that they were made of, and say what they are.

use core::ffi::{c_int, c_void};

use mpi_sys::*;
use proptest::prelude::*;

use crate::call::Word;
use crate::high::arguments::{fits, widen};
use crate::high::*;

/// Any bits, those at the edges more often.
fn word() -> impl Strategy<Value = u64> {
    let edge = prop_oneof![Just(0), Just(1), Just(u64::MAX), Just(1 << 31), Just(u64::MAX >> 33)];
    prop_oneof![3 => any::<u64>(), 1 => edge]
}

proptest! {
    /// Special values are told from ranks and tags, and a negative number that is none is the
    /// application's mistake.
    #[test]
    fn ranks_and_tags_say_what_they_are(raw: c_int) {
        for raw in [raw, raw % 8] {
            prop_assert_eq!(Source::from_c(raw).into_c(), raw);
            prop_assert_eq!(Source::from_c(raw).rank(), Rank::new(raw));
            prop_assert_eq!(Color::from_c(raw).into_c(), raw);
            prop_assert_eq!(Key::from_c(raw).into_c(), raw);
            prop_assert_eq!(Tag::from_c(raw).into_c(), raw);
            match Rank::new(raw).kind() {
                RankKind::Rank(rank) => prop_assert_eq!(i64::from(rank), i64::from(raw)),
                RankKind::AnySource => prop_assert_eq!(raw, MPI_ANY_SOURCE),
                RankKind::ProcNull => prop_assert_eq!(raw, MPI_PROC_NULL),
                RankKind::Root => prop_assert_eq!(raw, MPI_ROOT),
                RankKind::Invalid(invalid) => prop_assert!(invalid == raw && raw < 0),
            }
            match Tag::new(raw).kind() {
                TagKind::Tag(tag) => prop_assert_eq!(i64::from(tag), i64::from(raw)),
                TagKind::Any => prop_assert_eq!(raw, MPI_ANY_TAG),
                TagKind::Invalid(invalid) => prop_assert!(invalid == raw && raw < 0),
            }
        }
    }

    /// Nothing here is an address: what is made of it is not looked at.
    #[test]
    fn values_go_on_as_the_same_bits(words in [word(), word(), word(), word()]) {
        macro_rules! same {
            ($($type:ty: $raw:ty;)*) => {$(
                let raw = <$raw>::from_word(words[0]);
                prop_assert!(<$type>::from_c(raw).into_c() == raw);
            )*};
        }
        same! {
            Communicator<'_>: MPI_Comm;
            Communicator<'_, arg::peer_comm>: MPI_Comm;
            Datatype<'_>: MPI_Datatype;
            Group<'_>: MPI_Group;
            Operation<'_>: MPI_Op;
            Window<'_>: MPI_Win;
            File<'_>: MPI_File;
            Session<'_>: MPI_Session;
            Info<'_>: MPI_Info;
            Errhandler<'_>: MPI_Errhandler;
            Request<'_>: MPI_Request;
            Value<'_, MPI_Count, arg::size>: MPI_Count;
            Value<'_, c_int, arg::ndims>: c_int;
            Out<'_, MPI_Comm, arg::newcomm>: *mut MPI_Comm;
            Out<'_, MPI_Message, arg::message, IfFlag>: *mut MPI_Message;
            InOut<'_, MPI_Request>: *mut MPI_Request;
            StatusMut<'_>: *mut MPI_Status;
            StatusMut<'_, IfFlag>: *mut MPI_Status;
            StatusesMut<'_, '_>: *mut MPI_Status;
        }
        let [address, count, datatype, displacement] = words;
        let read = <*const c_void>::from_word(address);
        let written = <*mut c_void>::from_word(address);
        let length = c_int::from_word(count);
        let count = MPI_Count::from_word(count);
        let datatype = MPI_Datatype::from_word(datatype);
        let buffer = TypeDynamicBufferRef::from_c(read, count, datatype);
        prop_assert!(buffer.into_c() == (read, count, datatype));
        let placed = match buffer.place() {
            Place::Memory(memory) => memory,
            Place::Bottom => core::ptr::null(),
            Place::InPlace => MPI_IN_PLACE.cast_const(),
        };
        prop_assert_eq!(placed, read);
        let buffer = TypeDynamicBufferMut::from_c(written, count, datatype);
        prop_assert!(buffer.into_c() == (written, count, datatype));
        let partitioned = PartitionedMut::from_c(written, length, count, datatype);
        prop_assert!(partitioned.into_c() == (written, length, count, datatype));
        let reduction = ReductionBuffers::from_c(read, written, count, datatype);
        prop_assert!(reduction.into_c() == (read, written, count, datatype));
        prop_assert!(reduction.send().into_c() == (read, count, datatype));
        prop_assert!(reduction.receive().into_c() == (written, count, datatype));
        let displacement = MPI_Aint::from_word(displacement);
        let target = Target::from_c(length, displacement, count, datatype);
        prop_assert!(target.into_c() == (length, displacement, count, datatype));

        let requests = <*mut MPI_Request>::from_word(address);
        let requests = RequestsMut::from_c(length, requests);
        prop_assert!(requests.into_c() == (length, <*mut MPI_Request>::from_word(address)));
        let some = length > 0 && address != 0;
        prop_assert_eq!(requests.len(), if some { length as usize } else { 0 });
        prop_assert_eq!(requests.is_empty(), !some);
        let wide = Counts::<Part>::wide(<*const MPI_Count>::from_word(address));
        let narrow = Counts::<Part>::int(<*const c_int>::from_word(address));
        prop_assert_eq!((wide.address(), narrow.address()), (address, address));
        prop_assert!(wide.is_wide() && !narrow.is_wide());
    }

    /// Handles that are there, and those where a null pointer says that there are none.
    #[test]
    fn handles_are_read_as_they_are(words in proptest::collection::vec(word(), 0..40)) {
        let mut handles: Vec<_> = words.iter().copied().map(MPI_Request::from_word).collect();
        let length = c_int::try_from(handles.len()).unwrap();
        let requests = RequestsMut::from_c(length, handles.as_mut_ptr());
        // SAFETY: nobody must write to them: there is no MPI here.
        let read = unsafe { requests.as_slice() }.to_vec();
        prop_assert!(read == handles);
        // The iterator borrows neither the value nor the array, which MPI changes in the call.
        let held = { RequestsMut::from_c(length, handles.as_mut_ptr()).iter() };
        prop_assert_eq!(held.len(), handles.len());
        let null = pmpi::MPI_REQUEST_NULL;
        let some = handles.iter().map(|&request| (request != null).then_some(request));
        prop_assert!(requests.iter().eq(some));
        if let Some(first) = handles.first_mut() {
            let value = *first;
            prop_assert!(InOut::<_, Only>::from_c(&raw mut *first).get() == Some(value));
        }
        let nothing = InOut::<MPI_Request, Only>::from_c(core::ptr::null_mut());
        let without_array = RequestsMut::from_c(length, core::ptr::null_mut());
        let negative = RequestsMut::from_c(-1 - length, handles.as_mut_ptr());
        // SAFETY: nobody must write to them: there is no MPI here.
        let read = unsafe {
            [nothing.as_slice(), without_array.as_slice(), negative.as_slice()].map(<[_]>::len)
        };
        prop_assert!(nothing.get().is_none() && read == [0; 3]);
    }

    /// `i32::try_from` knows the answer.
    #[test]
    fn only_what_fits_is_narrowed(wide: i64, narrow: i32) {
        for wide in [wide, i64::from(narrow), i64::from(narrow) << 1] {
            prop_assert_eq!(fits(wide, wide as i32), i32::try_from(wide).is_ok());
        }
        prop_assert_eq!(widen::<i64>(narrow), i64::from(narrow));
    }
}
