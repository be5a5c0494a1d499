//! Ranks that look for something again and again, and do nothing else: the engine says when they count as waiting.

use core::sync::atomic::Ordering::{Relaxed, Release};

use mpi_tool_layer::mpi_sys::{MPI_Request, c_int};
use mpi_tool_layer::{Accepted, AnyCall, Call as _, FunctionId, Word as _};
use smallvec::SmallVec;

use super::{NEEDS, Need, NeedState, RankState, own, state};
use crate::arguments::Checked;
use crate::epochs;
use crate::messages;
use crate::places::Mark;
use crate::requests;

/// Does the function look for something, and return at once?
pub(crate) fn is_poll(function: FunctionId) -> bool {
    use FunctionId::{
        MPI_Improbe, MPI_Iprobe, MPI_Test, MPI_Testall, MPI_Testany, MPI_Testsome, MPI_Win_test,
    };
    is_look(function)
        || matches!(
            function,
            MPI_Improbe
                | MPI_Iprobe
                | MPI_Test
                | MPI_Testall
                | MPI_Testany
                | MPI_Testsome
                | MPI_Win_test
        )
}

/// Does it look at requests, and leave them as they are?
pub(crate) fn is_look(function: FunctionId) -> bool {
    use FunctionId::{
        MPI_Request_get_status, MPI_Request_get_status_all, MPI_Request_get_status_any,
        MPI_Request_get_status_some,
    };
    matches!(
        function,
        MPI_Request_get_status
            | MPI_Request_get_status_all
            | MPI_Request_get_status_any
            | MPI_Request_get_status_some
    )
}

/// The requests that an accepted call has looked at.
fn looked_at<'c>(call: AnyCall<'c>) -> SmallVec<[MPI_Request; 4]> {
    let words = call.words();
    if call.function() == FunctionId::MPI_Request_get_status {
        return SmallVec::from_slice(&[MPI_Request::from_word(words[0])]);
    }
    let count = usize::try_from(c_int::from_word(words[0])).unwrap_or(0);
    let first = <*const MPI_Request>::from_word(words[1]);
    // SAFETY: so many requests must be there, unless there are none: MPI has accepted the call, and read them.
    (0..count).map(|at| unsafe { *first.add(at) }).collect()
}

/// Has an accepted call of such a function found something?
pub(crate) fn found<'c>(call: AnyCall<'c>, accepted: Accepted<'c>) -> bool {
    use FunctionId::{MPI_Request_get_status_some, MPI_Testsome};
    if !matches!(call.function(), MPI_Testsome | MPI_Request_get_status_some) {
        return call.has_flag_set(accepted);
    }
    let outcount = <*const c_int>::from_word(call.words()[2]);
    // SAFETY: the pointer must lead to a number, unless it is null: MPI has accepted the call, and written it.
    unsafe { outcount.as_ref() }.is_none_or(|count| *count != 0)
}

/// An accepted call of such a function has looked for something.
pub(crate) fn looked(checked: &Checked<'_>, has_found: bool) {
    let Some(own) = own() else { return };
    if has_found {
        if own.state.load(Relaxed) == state::POLLING {
            own.state.store(state::RUNNING, Release);
            own.sequence.fetch_add(1, Relaxed);
        }
        return;
    }
    let call = checked.call;
    let needs: SmallVec<[Need; 4]> = match checked.function {
        FunctionId::MPI_Iprobe | FunctionId::MPI_Improbe => {
            let wanted = messages::wanted_of(checked);
            SmallVec::from_slice(&[wanted.map_or(Need::Nothing, Need::Message)])
        }
        FunctionId::MPI_Win_test => epochs::needs(checked),
        function if is_look(function) => requests::needs_of(&looked_at(call)),
        _ => requests::needs_of(call.requests()),
    };
    let is_all = matches!(
        checked.function,
        FunctionId::MPI_Testall | FunctionId::MPI_Request_get_status_all | FunctionId::MPI_Win_test
    );
    if needs.is_empty() || needs.len() > NEEDS {
        begin(own, checked, &[Need::Nothing], false);
    } else if own.state.load(Relaxed) != state::POLLING {
        begin(own, checked, &needs, is_all);
    } else if !same(own, &needs) {
        go_on(own, checked, &needs, is_all);
    }
    own.polls.store(own.polls.load(Relaxed) + 1, Relaxed);
}

fn known(own: &RankState) -> &[NeedState] {
    &own.needs[..(own.count.load(Relaxed) as usize).min(NEEDS)]
}

/// Is it what it has looked for before, and nothing else?
fn same(own: &RankState, needs: &[Need]) -> bool {
    let known = known(own);
    known.len() == needs.len() && known.iter().zip(needs).all(|(known, need)| known.get() == *need)
}

/// It begins to look for something.
fn begin(own: &RankState, checked: &Checked<'_>, needs: &[Need], is_all: bool) {
    let mark = Mark::of(checked.site);
    own.state.store(state::RUNNING, Release);
    own.function.store(checked.function as u32, Relaxed);
    own.module.store(mark.module, Relaxed);
    own.offset.store(mark.offset, Relaxed);
    own.is_any.store(!is_all, Relaxed);
    for (to, from) in own.needs.iter().zip(needs) {
        to.set(*from);
    }
    own.count.store(needs.len() as u32, Relaxed);
    own.polls.store(0, Relaxed);
    own.sequence.fetch_add(1, Relaxed);
    own.state.store(state::POLLING, Release);
}

/// It looks for something else, too: anything of all that is enough.
fn go_on(own: &RankState, checked: &Checked<'_>, needs: &[Need], is_all: bool) {
    let count = known(own).len();
    if is_all || !own.is_any.load(Relaxed) {
        begin(own, checked, &[Need::Nothing], false);
        return;
    }
    let is_known = |need: &Need| known(own).iter().any(|known| known.get() == *need);
    let new: SmallVec<[Need; 4]> = needs.iter().copied().filter(|need| !is_known(need)).collect();
    if new.is_empty() {
        return;
    }
    if count + new.len() > NEEDS {
        begin(own, checked, &[Need::Nothing], false);
        return;
    }
    for (to, from) in own.needs[count..].iter().zip(&new) {
        to.set(*from);
    }
    own.sequence.fetch_add(1, Relaxed);
    own.count.store((count + new.len()) as u32, Release);
}
