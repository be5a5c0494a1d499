//! Which message a probe has found, and which call receives what `MPI_Mprobe` has taken out of the order.

use mpi_facts::trace::{Partner, receives_taken, takes, tells_what_it_finds};
use mpi_tool_layer::mpi_sys::MPI_Message;
use mpi_tool_layer::{Accepted, Call, CallResult, Communicators, HandleMap, ParameterKind, Rank};

use crate::Started;
use crate::recorder::Recorder;
use crate::run;

/// The calls that have matched messages which are not received yet.
pub(crate) struct Probes(HandleMap<Started>);

impl Probes {
    pub(crate) const fn new() -> Self {
        Self(HandleMap::new())
    }

    /// The call that has matched the message that a call is going to receive, if it does so and that one is in the file.
    #[inline(always)]
    pub(crate) fn taken<'c>(&self, call: impl Call<'c>) -> Option<Started> {
        if !receives_taken(call.function()) {
            return None;
        }
        self.0.remove(message(call)?)
    }

    /// A call is over, and is recorded next.
    #[inline(always)]
    pub(crate) fn done<'c>(
        &self,
        recorder: Option<&Recorder>,
        communicators: &Communicators,
        call: impl Call<'c>,
        result: CallResult<'c>,
        taken: Option<Started>,
    ) {
        let Ok(accepted) = result else { return };
        if tells_what_it_finds(call.function()) {
            self.found(recorder, communicators, call, accepted);
        }
        if let (Some(recorder), Some(taken)) = (recorder, taken) {
            recorder.matched(taken.parts());
        }
    }

    /// A probe has been accepted, and has found a message unless its flag is false.
    #[cold]
    #[inline(never)]
    fn found<'c>(
        &self,
        recorder: Option<&Recorder>,
        communicators: &Communicators,
        call: impl Call<'c>,
        accepted: Accepted<'c>,
    ) {
        let Some(status) = call.status(accepted) else { return };
        if takes(call.function())
            && let Some(message) = message(call)
        {
            // While tracing is off, it forgets the message that has had the handle before.
            match recorder {
                Some(recorder) => self.0.insert(message, Started::next_of(recorder)),
                None => drop(self.0.remove(message)),
            }
        }
        let source = Rank::new(status.MPI_SOURCE);
        let peer =
            call.communicator().and_then(|comm| communicators.world_rank(comm.raw(), source));
        if let (Some(recorder), Some(peer)) = (recorder, peer) {
            let distance = i64::from(peer) - i64::from(run::rank());
            recorder.found(Partner::At(distance), status.MPI_TAG);
        }
    }
}

/// The message that an accepted probe has matched, or that a call is going to receive.
#[inline(always)]
fn message<'c>(call: impl Call<'c>) -> Option<MPI_Message> {
    let of_message = |one: &mpi_facts::Parameter| one.kind == ParameterKind::Message;
    let position = call.function().parameters().iter().position(of_message)?;
    let address: *const MPI_Message = call.get(position.try_into().ok()?)?;
    // SAFETY: an address that is not null must be readable and initialised. MPI reads it as the application's call
    // demands, or has written it, since it has accepted the call and found something.
    (!address.is_null()).then(|| unsafe { *address })
}
