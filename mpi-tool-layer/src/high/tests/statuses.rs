//! What a layer is told of the requests that a call has finished goes by what its next function has
//! returned, and by nothing that the layer says.

use core::cell::RefCell;
use core::ffi::c_int;
use core::ptr;
use std::sync::Mutex;

use mpi_sys::*;

use crate::call::Word;
use crate::table::NO_FUNCTIONS;
use crate::{
    Call, CallResult, ErrorCode, MpiInterceptionLayer, PendingRequests, RawMpiInterceptionLayer,
    UnsafeBox,
};

/// Keeps something of each request, and answers calls by an error of its own, or passes them on.
struct Keeper {
    kept: PendingRequests<()>,
    /// Positions of requests that it was told of by `finished`, and how many by `complete`.
    told: Mutex<(Vec<usize>, usize)>,
    refuses: Option<ErrorCode>,
}

impl Keeper {
    fn new(refuses: Option<c_int>, requests: &[MPI_Request]) -> Self {
        let kept = PendingRequests::new();
        requests.iter().for_each(|request| kept.insert(*request, ()));
        Self { kept, told: Mutex::default(), refuses: refuses.and_then(ErrorCode::new) }
    }

    fn told(&self) -> (Vec<usize>, usize) {
        self.told.lock().unwrap().clone()
    }
}

impl MpiInterceptionLayer for Keeper {
    const WATCHES_COMPLETION: bool = true;

    fn around<'c>(
        &self,
        call: impl Call<'c>,
        next_f: impl FnOnce() -> CallResult<'c>,
    ) -> CallResult<'c> {
        let next_f = || match self.refuses {
            Some(error) => Err(error),
            None => next_f(),
        };
        let completed = RefCell::new(0);
        let result = self.kept.complete(call, next_f, |(), _| {
            *completed.borrow_mut() += 1;
            None
        });
        let mut told = self.told.lock().unwrap();
        told.1 += completed.into_inner();
        call.finished(|position, _| told.0.push(position));
        result
    }
}

/// A box for a method of a `Keeper`, which reads nothing of what the arguments point to but what the framework
/// reads.
fn boxed<F>(next: F) -> UnsafeBox<'static, F> {
    // SAFETY: the method must be called with the arguments of a call. What the framework may read of them is there in
    // each test: the requests, and where the next function accepts the call, the rest.
    unsafe { UnsafeBox::new(next, &NO_FUNCTIONS) }
}

fn requests<const N: usize>() -> [MPI_Request; N] {
    core::array::from_fn(|index| MPI_Request::from_word(0x1_0000 + 0x100 * index as u64))
}

/// An error that says that statuses tell more, but no call, and so no statuses: the addresses are not
/// looked at, and the application is told another error, or it would read its statuses.
#[test]
fn statuses_of_a_call_that_was_not_made_are_not_read() {
    let mut requests = requests::<2>();
    let layer = Keeper::new(Some(MPI_ERR_IN_STATUS), &requests);
    let nothing = ptr::without_provenance_mut::<c_int>(8);
    let statuses = ptr::without_provenance_mut::<MPI_Status>(16);
    let some = boxed(|_, _, _, _, _| unreachable!("not called"));
    let result = RawMpiInterceptionLayer::waitsome(
        &layer,
        some,
        2,
        requests.as_mut_ptr(),
        nothing,
        nothing,
        statuses,
    );
    assert_eq!(result, MPI_ERR_OTHER);
    let all = boxed(|_, _, _, _| unreachable!("not called"));
    let result =
        RawMpiInterceptionLayer::testall(&layer, all, 2, requests.as_mut_ptr(), nothing, statuses);
    assert_eq!(result, MPI_ERR_OTHER);
    assert_eq!(layer.told(), (vec![], 0));

    let layer = Keeper::new(Some(MPI_ERR_RANK), &requests);
    let some = boxed(|_, _, _, _, _| unreachable!("not called"));
    let result = RawMpiInterceptionLayer::waitsome(
        &layer,
        some,
        2,
        requests.as_mut_ptr(),
        nothing,
        nothing,
        statuses,
    );
    assert_eq!(result, MPI_ERR_RANK, "an error of the tool's own is what it is");
}

/// `MPI_ERR_IN_STATUS` that comes from below is the application's, and tells of those that are complete.
#[test]
fn statuses_of_a_call_in_which_some_failed_are_read() {
    let mut requests = requests::<3>();
    let layer = Keeper::new(None, &requests);
    // SAFETY: zeros are a status, which is numbers.
    let mut statuses = [unsafe { core::mem::zeroed::<MPI_Status>() }; 3];
    let next = |_, _, statuses: *mut MPI_Status| {
        for (index, error) in [MPI_SUCCESS, MPI_ERR_PENDING, MPI_ERR_TRUNCATE].iter().enumerate() {
            // SAFETY: the array of three below.
            unsafe { (*statuses.add(index)).MPI_ERROR = *error };
        }
        MPI_ERR_IN_STATUS
    };
    let next = boxed(next);
    let result = RawMpiInterceptionLayer::waitall(
        &layer,
        next,
        3,
        requests.as_mut_ptr(),
        statuses.as_mut_ptr(),
    );
    assert_eq!(result, MPI_ERR_IN_STATUS);
    assert_eq!(layer.told(), (vec![0, 2], 2));
}

/// MPI accepts a call, and leaves the application's variables as they were: so does MPICH 5 when an error
/// handler has run. No more is read than there are requests.
#[test]
fn numbers_that_mpi_did_not_write_reach_no_memory() {
    let mut requests = requests::<2>();
    let layer = Keeper::new(None, &requests);
    // SAFETY: zeros are a status, which is numbers.
    let mut statuses = [unsafe { core::mem::zeroed::<MPI_Status>() }; 2];
    let (mut count, mut indices) = (c_int::MAX, [1, c_int::MAX]);
    let next = boxed(|_, _, _, _, _| MPI_SUCCESS);
    let result = RawMpiInterceptionLayer::waitsome(
        &layer,
        next,
        2,
        requests.as_mut_ptr(),
        &mut count,
        indices.as_mut_ptr(),
        statuses.as_mut_ptr(),
    );
    assert_eq!(result, MPI_SUCCESS);
    assert_eq!(layer.told(), (vec![1], 1));
}

/// A probe that takes a message out of the queue says which one by its status: a layer that watches completion has that, also
/// where the application ignores it.
#[test]
fn a_probe_that_takes_a_message_has_a_status() {
    struct Looker(Mutex<Option<c_int>>);
    impl MpiInterceptionLayer for Looker {
        const WATCHES_COMPLETION: bool = true;
        fn around<'c>(
            &self,
            call: impl Call<'c>,
            next_f: impl FnOnce() -> CallResult<'c>,
        ) -> CallResult<'c> {
            let result = next_f();
            if let Ok(accepted) = result {
                *self.0.lock().unwrap() = call.status(accepted).map(|status| status.MPI_SOURCE);
            }
            result
        }
    }
    let layer = Looker(Mutex::default());
    let mut message = MPI_MESSAGE_NULL;
    let next = boxed(|_, _, _, _, status: *mut MPI_Status| {
        // SAFETY: the status must be writable: it is the layer's, since the application has none.
        unsafe { (*status).MPI_SOURCE = 3 };
        MPI_SUCCESS
    });
    let result = RawMpiInterceptionLayer::mprobe(
        &layer,
        next,
        MPI_ANY_SOURCE,
        0,
        MPI_COMM_SELF,
        &mut message,
        MPI_STATUS_IGNORE,
    );
    assert_eq!((result, *layer.0.lock().unwrap()), (MPI_SUCCESS, Some(3)));
}
