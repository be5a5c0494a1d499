//! Variables of the MPI library: each that is listed can be read, names find what they name, handles count for their session
//! only. Right on any number of ranks.

use std::collections::HashSet;
use std::ffi::CString;

use rmpi::{
    Binding, ErrorClass, PerformanceClass, RmpiContext, RmpiResult, Tag, ToolInterface, ToolValue,
    VariableScope,
};

fn main() -> RmpiResult {
    let context = rmpi::init()?;
    let size = context.world().size()?;
    control(&context)?;
    performance(&context)?;
    if context.world().rank()? == 0 {
        println!("tool variables: right on {size} ranks");
    }
    context.finalize()
}

fn class<T>(result: RmpiResult<T>) -> Option<ErrorClass> {
    result.err().map(|error| error.class())
}

fn control(context: &RmpiContext) -> RmpiResult {
    let tools = ToolInterface::new(context)?;
    // MPI counts: the first one stays when the second one ends.
    drop(ToolInterface::new(context.world())?);
    let count = tools.num_control_variables()?;
    assert!(count > 0, "all MPIs that are tested have settings");
    let (mut read, mut names, mut texts, mut numbers) = (0, HashSet::new(), 0, 0);
    for (index, variable) in tools.control_variables()?.enumerate() {
        let variable = match variable {
            Ok(variable) => variable,
            // A setting of a component that is not loaded any more.
            Err(error) if error.class() == ErrorClass::T_INVALID_INDEX => continue,
            Err(error) => return Err(error),
        };
        assert!(!variable.name().is_empty());
        assert!(!matches!(variable.scope(), VariableScope::Other(_)), "{variable:?}");
        names.insert(variable.name().to_owned());
        let name = CString::new(variable.name()).expect("no zero in a name");
        if index % 16 == 0 {
            // Names may have several variables of which one is found, and one may be synonymous with another.
            match tools.find_control_variable(&name) {
                Ok(found) => assert_eq!(found.binding(), variable.binding()),
                Err(error) => assert_eq!(error.class(), ErrorClass::T_INVALID_NAME, "{name:?}"),
            }
        }
        for (_, item) in variable.items()? {
            assert!(!item.is_empty(), "{variable:?}");
        }
        match variable.binding() {
            Binding::NoObject => {
                let value = match variable.read() {
                    Ok(value) => value,
                    // Open MPI lists the settings of a component that it has put away, and does not read them.
                    Err(error) => {
                        assert_eq!(error.class(), ErrorClass::T_INVALID_INDEX, "{variable:?}");
                        continue;
                    }
                };
                assert_eq!(value, variable.read()?);
                match &value {
                    ToolValue::Text(_) => texts += 1,
                    ToolValue::Signed(values) => {
                        assert!(!values.is_empty());
                        numbers += 1;
                    }
                    _ => {}
                }
                let refused = variable.read_of(context.world());
                assert_eq!(class(refused), Some(ErrorClass::UNSUPPORTED_OPERATION));
                read += 1;
            }
            Binding::Communicator => drop(variable.read_of(context.world())?),
            _ => assert_eq!(class(variable.read()), Some(ErrorClass::UNSUPPORTED_OPERATION)),
        }
    }
    assert!(names.len() > count / 2 && read > count / 2 && texts > 0 && numbers > 0);
    assert_eq!(class(tools.control_variable(count + 10)), Some(ErrorClass::T_INVALID_INDEX));
    assert_eq!(class(tools.control_variable(usize::MAX)), Some(ErrorClass::T_INVALID_INDEX));
    let unknown = tools.find_control_variable(c"no variable has this name");
    assert_eq!(class(unknown), Some(ErrorClass::T_INVALID_NAME));
    // What a user has set, MPI tells: `system-tests` sets these, each for an MPI.
    for (name, variable) in [
        ("MPIR_CVAR_BCAST_MIN_PROCS", "MPIR_CVAR_BCAST_MIN_PROCS"),
        ("OMPI_MCA_coll_tuned_init_tree_fanout", "coll_tuned_init_tree_fanout"),
    ] {
        let Some(set) = std::env::var(name).ok().and_then(|set| set.parse::<i64>().ok()) else {
            continue;
        };
        let found = tools.find_control_variable(&CString::new(variable).expect("no zero"));
        let Ok(found) = found else { continue };
        assert_eq!(found.read()?, ToolValue::Signed(vec![set]));
        println!("{variable} is {set}, as it was set");
    }
    Ok(())
}

fn performance(context: &RmpiContext) -> RmpiResult {
    let world = context.world();
    let tools = ToolInterface::new(context)?;
    let session = tools.performance_session()?;
    let other = tools.performance_session()?;
    let (mut listed, mut read) = (0, 0);
    for variable in tools.performance_variables()? {
        let variable = match variable {
            Ok(variable) => variable,
            // Open MPI says this of what a component counts that it has put away.
            Err(error) if error.class() == ErrorClass::T_INVALID => continue,
            Err(error) => return Err(error),
        };
        listed += 1;
        assert!(!matches!(variable.class(), PerformanceClass::Other(_)), "{variable:?}");
        let name = CString::new(variable.name()).expect("no zero in a name");
        let found = tools.find_performance_variable(&name, variable.class())?;
        assert_eq!((found.name(), found.class()), (variable.name(), variable.class()));
        let handle = |session: &'_ rmpi::PerformanceSession<'_>| -> RmpiResult<bool> {
            let handle = match variable.binding() {
                Binding::NoObject => session.handle(&variable),
                Binding::Communicator => session.handle_of(&variable, world),
                _ => {
                    let refused = Some(ErrorClass::UNSUPPORTED_OPERATION);
                    assert_eq!(class(session.handle(&variable)), refused);
                    assert_eq!(class(session.handle_of(&variable, world)), refused);
                    return Ok(false);
                }
            };
            // What a component offers that is not used, some MPIs refuse.
            let Ok(handle) = handle else { return Ok(false) };
            if !variable.is_continuous() && handle.start().is_err() {
                return Ok(false);
            }
            match world.rank()? {
                0 if world.size()? > 1 => world.process(1).send(&[1_u8; 100], Tag::new(0))?,
                1 => world.process(0).recv(&mut [0_u8; 100], Tag::new(0))?,
                _ => {}
            }
            Ok(handle.read().is_ok() && (variable.is_continuous() || handle.stop().is_ok()))
        };
        read += usize::from(handle(&session)?) + usize::from(handle(&other)?);
    }
    // MPICH has none, as most build it.
    if rmpi::get_library_version()?.contains("Open MPI") {
        assert!(listed > 0 && read > 0, "{read} of {listed}");
    }
    let count = tools.num_performance_variables()?;
    assert_eq!(class(tools.performance_variable(count + 10)), Some(ErrorClass::T_INVALID_INDEX));
    let unknown = tools.find_performance_variable(c"no such variable", PerformanceClass::Counter);
    assert_eq!(class(unknown), Some(ErrorClass::T_INVALID_NAME));
    let unknown = tools.find_performance_variable(c"no such variable", PerformanceClass::Other(-5));
    assert_eq!(class(unknown), Some(ErrorClass::T_INVALID_NAME));
    world.barrier()
}
