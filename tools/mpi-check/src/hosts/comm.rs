//! MPI as the tool itself uses it: communicators that the application does not know, and on which errors return. Everything
//! that is asked here goes to MPI directly, so that no tool sees it.
//!
//! Collective operations are nonblocking ones, which are waited for at once if need be: for blocking ones, some MPIs make
//! further communicators, of hosts and between them.

use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;

use mpi_tool_layer::Word as _;
use mpi_tool_layer::mpi_sys::{
    MPI_ANY_SOURCE, MPI_Comm, MPI_Datatype, MPI_Errhandler, MPI_Group, MPI_Op, MPI_Request,
    MPI_STATUS_IGNORE, MPI_STATUSES_IGNORE, MPI_Status, MPI_User_function, pmpi,
};

/// MPI has refused something: what depends on it is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Failed;

pub(super) type Result<T> = core::result::Result<T, Failed>;

fn check(code: c_int) -> Result<()> {
    if code == pmpi::MPI_SUCCESS { Ok(()) } else { Err(Failed) }
}

/// Errors on a communicator of the application return, as long as this lives.
struct ErrorsReturn {
    comm: MPI_Comm,
    theirs: MPI_Errhandler,
}

impl ErrorsReturn {
    /// # Safety
    ///
    /// The communicator must be valid as long as this lives, and no other thread may use it meanwhile.
    unsafe fn on(comm: MPI_Comm) -> Result<Self> {
        let mut theirs = pmpi::MPI_ERRHANDLER_NULL;
        // SAFETY: both functions want a valid communicator, which the caller promises. The first one writes a handle, and
        // the second one gets a predefined one.
        unsafe {
            check(pmpi::MPI_Comm_get_errhandler(comm, &mut theirs))?;
            check(pmpi::MPI_Comm_set_errhandler(comm, pmpi::MPI_ERRORS_RETURN))?;
        }
        Ok(Self { comm, theirs })
    }
}

impl Drop for ErrorsReturn {
    fn drop(&mut self) {
        // SAFETY: the communicator is still valid, as the caller of `on` has promised. MPI has given the handle to `on`
        // with a reference of its own, which is freed here and nowhere else.
        unsafe {
            pmpi::MPI_Comm_set_errhandler(self.comm, self.theirs);
            pmpi::MPI_Errhandler_free(&mut self.theirs);
        }
    }
}

/// Asks all processes of a communicator that the application has just got, or does not have yet: the least of each number.
///
/// # Safety
///
/// The communicator must be valid and of one group, and no other thread may use it meanwhile. All its processes must call
/// this as the next collective operation on it.
pub(super) unsafe fn least_on<const N: usize>(comm: MPI_Comm, own: [i64; N]) -> Result<[i64; N]> {
    // SAFETY: the same is asked for.
    let _errors = unsafe { ErrorsReturn::on(comm)? };
    // SAFETY: the caller promises the same.
    unsafe { least(comm, own) }
}

/// # Safety
///
/// The communicator must be valid and of one group, and all its processes must make this call in the same order.
unsafe fn least<const N: usize>(comm: MPI_Comm, own: [i64; N]) -> Result<[i64; N]> {
    let mut all = [0; N];
    let mut request = Request::none();
    // SAFETY: MPI reads and writes as many elements of 64 bits as each of the two arrays has, until the request is complete,
    // which is waited for. The rest is the caller's promise.
    check(unsafe {
        pmpi::MPI_Iallreduce(
            own.as_ptr().cast(),
            all.as_mut_ptr().cast(),
            N as c_int,
            pmpi::MPI_INT64_T,
            pmpi::MPI_MIN,
            comm,
            &mut request.0,
        )
    })?;
    request.wait()?;
    Ok(all)
}

/// The numbers of all processes of the world, in the order of their ranks.
///
/// # Safety
///
/// The world must be active and have `size` processes, no other thread may use it, and all processes must call this as the
/// next collective operation on it.
pub(super) unsafe fn all_on_world<const N: usize>(
    size: u32,
    own: [u64; N],
) -> Result<Vec<[u64; N]>> {
    let world = pmpi::MPI_COMM_WORLD;
    // SAFETY: the caller promises it.
    let _errors = unsafe { ErrorsReturn::on(world)? };
    let mut all = vec![[0_u64; N]; size as usize];
    let count = N as c_int;
    let mut request = Request::none();
    // SAFETY: MPI reads `N` elements of 64 bits, which `own` has, and writes `N` for each process, for which there is room,
    // until the request is complete, which is waited for.
    check(unsafe {
        pmpi::MPI_Iallgather(
            own.as_ptr().cast(),
            count,
            pmpi::MPI_UINT64_T,
            all.as_mut_ptr().cast(),
            count,
            pmpi::MPI_UINT64_T,
            world,
            &mut request.0,
        )
    })?;
    request.wait()?;
    Ok(all)
}

/// A communicator that the application does not know.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnComm(u64);

impl OwnComm {
    /// A new one with the processes of another one. No copy, which would run the application's callbacks for attributes.
    ///
    /// # Safety
    ///
    /// As [`least_on`].
    pub(super) unsafe fn of(comm: MPI_Comm) -> Result<Self> {
        // SAFETY: the caller promises it.
        let _errors = unsafe { ErrorsReturn::on(comm)? };
        let mut group: MPI_Group = pmpi::MPI_GROUP_NULL;
        let mut made = pmpi::MPI_COMM_NULL;
        // SAFETY: the functions want a valid communicator, its group, which is valid once the first one has succeeded, and
        // a place for a handle each. All processes make these calls, as the caller promises. The group is freed once.
        unsafe {
            check(pmpi::MPI_Comm_group(comm, &mut group))?;
            let result = check(pmpi::MPI_Comm_create(comm, group, &mut made));
            pmpi::MPI_Group_free(&mut group);
            result?;
            check(pmpi::MPI_Comm_set_errhandler(made, pmpi::MPI_ERRORS_RETURN))?;
        }
        Ok(Self(made.to_word()))
    }

    fn handle(self) -> MPI_Comm {
        MPI_Comm::from_word(self.0)
    }

    /// Ends it. All its processes do so. What is pending on it goes on.
    ///
    /// # Safety
    ///
    /// It must not have been freed, and nobody may use it any more.
    pub(crate) unsafe fn free(self) {
        let mut comm = self.handle();
        // SAFETY: the communicator must be valid: `of` has made it, and it was not freed, as the caller promises.
        unsafe { pmpi::MPI_Comm_free(&mut comm) };
    }

    /// The least of each number. It waits for all processes.
    ///
    /// # Safety
    ///
    /// All processes must make their collective calls on this communicator in the same order, with as many numbers.
    pub(super) unsafe fn least<const N: usize>(self, own: [i64; N]) -> Result<[i64; N]> {
        // SAFETY: the communicator must be valid and of one group: `of` has made it so. The rest is the caller's promise.
        unsafe { least(self.handle(), own) }
    }

    /// The sum of each number.
    ///
    /// # Safety
    ///
    /// As of [`least`](Self::least).
    pub(super) unsafe fn sum<const N: usize>(self, own: [u64; N]) -> Result<[u64; N]> {
        let mut all = [0; N];
        let mut request = Request::none();
        // SAFETY: MPI reads and writes as many elements of 64 bits as each of the two arrays has, until the request is
        // complete, which is waited for. The communicator is valid, and the caller promises the rest.
        check(unsafe {
            pmpi::MPI_Iallreduce(
                own.as_ptr().cast(),
                all.as_mut_ptr().cast(),
                N as c_int,
                pmpi::MPI_UINT64_T,
                pmpi::MPI_SUM,
                self.handle(),
                &mut request.0,
            )
        })?;
        request.wait()?;
        Ok(all)
    }

    /// All bits that any process has.
    ///
    /// # Safety
    ///
    /// As of [`least`](Self::least).
    pub(super) unsafe fn any(self, own: u64) -> Result<u64> {
        let mut all = 0_u64;
        let mut request = Request::none();
        // SAFETY: MPI reads and writes one element of 64 bits, which both variables are, until the request is complete, which
        // is waited for. The communicator is valid, and the caller promises the rest.
        check(unsafe {
            pmpi::MPI_Iallreduce(
                (&raw const own).cast(),
                (&raw mut all).cast(),
                1,
                pmpi::MPI_UINT64_T,
                pmpi::MPI_BOR,
                self.handle(),
                &mut request.0,
            )
        })?;
        request.wait()?;
        Ok(all)
    }

    /// A number of each process, in the order of their ranks: at rank 0 all `size` of them, elsewhere nothing.
    ///
    /// # Safety
    ///
    /// As of [`least`](Self::least). There must be `size` processes, and `is_root` must be true at rank 0 alone.
    pub(super) unsafe fn gather(self, own: u64, size: u32, is_root: bool) -> Result<Vec<u64>> {
        let mut all = vec![0_u64; if is_root { size as usize } else { 0 }];
        let mut request = Request::none();
        // SAFETY: MPI reads one element of 64 bits, and at rank 0, which `is_root` is for, writes one for each process, for
        // which there is room, until the request is complete, which is waited for. The communicator is valid, and the caller
        // promises the rest.
        check(unsafe {
            pmpi::MPI_Igather(
                (&raw const own).cast(),
                1,
                pmpi::MPI_UINT64_T,
                all.as_mut_ptr().cast(),
                1,
                pmpi::MPI_UINT64_T,
                0,
                self.handle(),
                &mut request.0,
            )
        })?;
        request.wait()?;
        Ok(all)
    }

    /// Sends bytes to a rank that receives them now.
    pub(super) fn send(self, bytes: &[u8], to: u32, tag: c_int) -> Result<()> {
        // SAFETY: MPI reads as many bytes as it is told, which the slice has, before it returns.
        check(unsafe {
            let (data, count) = (bytes.as_ptr().cast(), bytes.len() as c_int);
            pmpi::MPI_Send(data, count, pmpi::MPI_BYTE, to as c_int, tag, self.handle())
        })
    }

    /// Receives bytes that a rank sends now.
    pub(super) fn receive(self, length: usize, from: u32, tag: c_int) -> Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        // SAFETY: MPI writes at most as many bytes as it is told, for which the vector has room.
        check(unsafe {
            let (data, count) = (bytes.as_mut_ptr().cast(), length as c_int);
            let (from, comm) = (from as c_int, self.handle());
            pmpi::MPI_Recv(data, count, pmpi::MPI_BYTE, from, tag, comm, MPI_STATUS_IGNORE)
        })?;
        Ok(bytes)
    }
}

/// A nonblocking operation of the tool's.
#[derive(Debug)]
#[repr(transparent)]
pub(super) struct Request(MPI_Request);

// SAFETY: a request may be used by any thread, one at a time, if several may call MPI. It is a number, or an address that
// only MPI uses.
unsafe impl Send for Request {}

impl Request {
    pub(super) fn none() -> Self {
        Self(pmpi::MPI_REQUEST_NULL)
    }

    pub(super) fn is_none(&self) -> bool {
        self.0 == pmpi::MPI_REQUEST_NULL
    }

    /// Waits until it is complete.
    fn wait(mut self) -> Result<()> {
        // SAFETY: `MPI_Wait` wants a request, which this is, and no status. Who has the request has the buffers.
        check(unsafe { pmpi::MPI_Wait(&mut self.0, MPI_STATUS_IGNORE) })
    }

    /// Is it complete? Then it is no request any more. What MPI refuses counts as complete, and fails.
    pub(super) fn test(&mut self) -> Result<bool> {
        let mut flag = 0;
        // SAFETY: `MPI_Test` wants a request, which this is, and places for a number and no status. Its communicator returns
        // errors. Who has the request has the buffers, which live on.
        check(unsafe { pmpi::MPI_Test(&mut self.0, &mut flag, MPI_STATUS_IGNORE) })?;
        Ok(flag != 0)
    }
}

/// Completes what can be of several requests, which are none then.
pub(super) fn test_some(requests: &mut [Request]) -> Result<()> {
    let mut count = 0;
    let mut places = vec![0; requests.len()];
    // SAFETY: `MPI_Testsome` wants an array of requests, which the slice is, as a `Request` is one of MPI's and nothing else,
    // and room for as many places. Who has the requests has the buffers.
    check(unsafe {
        pmpi::MPI_Testsome(
            requests.len() as c_int,
            requests.as_mut_ptr().cast(),
            &mut count,
            places.as_mut_ptr(),
            MPI_STATUSES_IGNORE,
        )
    })
}

/// A barrier that does not wait.
///
/// # Safety
///
/// As of [`OwnComm::least`].
pub(super) unsafe fn begin_barrier(comm: OwnComm) -> Result<Request> {
    let mut request = Request::none();
    // SAFETY: `MPI_Ibarrier` wants a valid communicator, which an `OwnComm` is, and writes a request. That all processes call
    // it, the caller promises.
    check(unsafe { pmpi::MPI_Ibarrier(comm.handle(), &mut request.0) })?;
    Ok(request)
}

/// Sends words to a rank, which has them when the request is complete.
///
/// # Safety
///
/// The words must stay where they are, and as they are, until the request is complete.
pub(super) unsafe fn begin_send(
    comm: OwnComm,
    words: &[u64],
    to: u32,
    tag: c_int,
) -> Result<Request> {
    let mut request = Request::none();
    // SAFETY: MPI reads the words until the request is complete, which the caller promises to allow. `MPI_Issend` is complete
    // when the receiver has begun to take the message.
    check(unsafe {
        pmpi::MPI_Issend(
            words.as_ptr().cast(),
            words.len() as c_int,
            pmpi::MPI_UINT64_T,
            to as c_int,
            tag,
            comm.handle(),
            &mut request.0,
        )
    })?;
    Ok(request)
}

/// Who has sent something that is here and that nobody has taken yet.
pub(super) fn sender(comm: OwnComm, tag: c_int) -> Result<Option<c_int>> {
    let mut flag = 0;
    let mut status = MaybeUninit::<MPI_Status>::uninit();
    // SAFETY: `MPI_Iprobe` wants a valid communicator, which an `OwnComm` is, and places for a number and a status.
    check(unsafe {
        pmpi::MPI_Iprobe(MPI_ANY_SOURCE, tag, comm.handle(), &mut flag, status.as_mut_ptr())
    })?;
    if flag == 0 {
        return Ok(None);
    }
    // SAFETY: the status must have been written: MPI does so if the flag says that there is a message.
    Ok(Some(unsafe { status.assume_init() }.MPI_SOURCE))
}

/// Receives words from a rank.
///
/// # Safety
///
/// The words must stay where they are until the request is complete, and nobody may read them before.
pub(super) unsafe fn begin_receive(
    comm: OwnComm,
    words: &mut [u64],
    from: c_int,
    tag: c_int,
) -> Result<Request> {
    let mut request = Request::none();
    // SAFETY: MPI writes the words until the request is complete, which the caller promises to allow, and no more than it
    // is told.
    check(unsafe {
        pmpi::MPI_Irecv(
            words.as_mut_ptr().cast(),
            words.len() as c_int,
            pmpi::MPI_UINT64_T,
            from,
            tag,
            comm.handle(),
            &mut request.0,
        )
    })?;
    Ok(request)
}

/// How values of a type are put together by a nonblocking reduction.
#[derive(Debug)]
pub(super) struct Reduction {
    datatype: u64,
    operation: u64,
}

impl Reduction {
    /// Of values of so many words, which are put together by a function that cares for no order.
    pub(super) fn new(words: usize, function: MPI_User_function) -> Result<Self> {
        let mut datatype: MPI_Datatype = pmpi::MPI_DATATYPE_NULL;
        let mut operation: MPI_Op = pmpi::MPI_OP_NULL;
        // SAFETY: each function writes a handle, and wants a valid datatype, which the predefined one is and the new one
        // once it is made, or a function that lives on, as a tool is never unloaded.
        unsafe {
            let words = words as c_int;
            check(pmpi::MPI_Type_contiguous(words, pmpi::MPI_UINT64_T, &mut datatype))?;
            check(pmpi::MPI_Type_commit(&mut datatype))?;
            check(pmpi::MPI_Op_create(function, 1, &mut operation))?;
        }
        Ok(Self { datatype: datatype.to_word(), operation: operation.to_word() })
    }

    /// Gives both objects back to MPI, which keeps them as long as what was begun needs them.
    pub(super) fn free(self) {
        let mut datatype = MPI_Datatype::from_word(self.datatype);
        let mut operation = MPI_Op::from_word(self.operation);
        // SAFETY: both want a handle that was made and not freed: `new` has made them, and nobody else has `self` any more.
        unsafe {
            pmpi::MPI_Type_free(&mut datatype);
            pmpi::MPI_Op_free(&mut operation);
        }
    }

    /// Starts one, of one value of each process.
    ///
    /// # Safety
    ///
    /// Both must be values of this reduction's size, and stay where they are until the request is complete; nobody may read
    /// the second one before. All processes of the communicator must start it in the same order.
    pub(super) unsafe fn begin(
        &self,
        comm: OwnComm,
        own: *const c_void,
        all: *mut c_void,
    ) -> Result<Request> {
        let mut request = Request::none();
        // SAFETY: `MPI_Iallreduce` wants two buffers of one element of the datatype, which the caller promises, an operation
        // for it, which `new` has made, and a valid communicator, which an `OwnComm` is.
        check(unsafe {
            pmpi::MPI_Iallreduce(
                own,
                all,
                1,
                MPI_Datatype::from_word(self.datatype),
                MPI_Op::from_word(self.operation),
                comm.handle(),
                &mut request.0,
            )
        })?;
        Ok(request)
    }
}
