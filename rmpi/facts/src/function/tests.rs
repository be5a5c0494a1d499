use super::*;

/// The order that is assumed everywhere: by C names, without gaps, and found again from each.
#[test]
fn names_and_numbers_lead_to_the_function() {
    assert_eq!(FunctionId::COUNT, 700);
    assert!(FunctionId::all().is_sorted_by(|a, b| a.name() < b.name()));
    for (index, function) in FunctionId::all().enumerate() {
        assert_eq!(FunctionId::from_index(index), Some(function));
        assert_eq!(function as usize, index);
        assert_eq!(function.name().parse(), Ok(function));
        assert_eq!(function.c_name().to_str(), Ok(function.name()));
        assert_eq!(function.pmpi_name().to_str(), Ok(format!("P{function}").as_str()));
        assert_eq!(function.pmpi_bytes(), function.pmpi_name().to_bytes_with_nul());
        assert_eq!(function.method_name(), function.name()["MPI_".len()..].to_lowercase());
    }
    assert_eq!(FunctionId::from_index(700), None);
    assert_eq!("MPI_Sned".parse::<FunctionId>(), Err(UnknownFunction));
    assert_eq!("mpi_send".parse::<FunctionId>(), Err(UnknownFunction));
}

/// What the standard says of a few functions.
#[test]
fn facts_of_the_standard() {
    let facts = |function: FunctionId| {
        (function.class(), function.first_version().to_string(), function.tum_qmpi_id())
    };
    let send = FunctionId::MPI_Send;
    assert_eq!(facts(send), (FunctionClass::PointToPoint, "1.0".into(), Some(258)));
    let bcast = FunctionId::MPI_Bcast_c;
    assert_eq!(facts(bcast), (FunctionClass::Collective, "4.0".into(), None));
    let toint = FunctionId::MPI_Comm_toint;
    assert_eq!(facts(toint), (FunctionClass::Conversion, "5.0".into(), None));
    assert_eq!(FunctionClass::OneSided.name(), "one-sided");

    let kinds: Vec<_> = send.parameters().iter().map(|p| (p.name(), p.kind)).collect();
    use ParameterKind::{Buffer, Communicator, Datatype, Rank, Tag, XferNumElem};
    let known = [
        ("buf", Buffer),
        ("count", XferNumElem),
        ("datatype", Datatype),
        ("dest", Rank),
        ("tag", Tag),
        ("comm", Communicator),
    ];
    assert_eq!(kinds, known);
    let gather = FunctionId::MPI_Gather.parameters();
    let root_only: Vec<_> = gather.iter().filter(|p| p.root_only).map(|p| p.name()).collect();
    assert_eq!(root_only, ["recvbuf", "recvcount", "recvtype"]);
    let requests = FunctionId::MPI_Waitall.parameters()[1];
    assert_eq!((requests.length(), requests.direction), (Some("count"), Direction::InOut));
    assert_eq!(FunctionId::all().filter(|f| f.tum_qmpi_id().is_some()).count(), 360);
}
