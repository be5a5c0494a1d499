//! A tool asks MPI about the application's objects in one place only, `src/call/asking.rs`, which knows what may
//! be asked: read from the sources, so that a new question cannot come to stand elsewhere unseen.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// What is called elsewhere, with the reason why that cannot reach the application's error handlers.
const ALLOWED: [(&str, &[&str]); 18] = [
    // Predefined communicators, while the world is there; its errors return meanwhile.
    (
        "mpi-tool-layer/src/host/world.rs",
        &[
            "MPI_Allreduce",
            "MPI_Comm_get_errhandler",
            "MPI_Comm_get_parent",
            "MPI_Comm_rank",
            "MPI_Comm_set_errhandler",
            "MPI_Comm_size",
            "MPI_Errhandler_free",
            "MPI_Finalized",
            "MPI_Initialized",
            "MPI_Query_thread",
            "MPI_Reduce",
        ],
    ),
    // A communicator of the tool's own, made of the world; its errors return.
    (
        "mpi-tool-layer/src/kit/gather.rs",
        &[
            "MPI_Comm_create",
            "MPI_Comm_free",
            "MPI_Comm_group",
            "MPI_Comm_set_errhandler",
            "MPI_Group_free",
            "MPI_Recv",
            "MPI_Send",
        ],
    ),
    // A code, not an object.
    ("mpi-tool-layer/src/call/returned.rs", &["MPI_Error_class"]),
    // A request of the tool's own.
    ("mpi-tool-layer/src/fortran/to_fortran.rs", &["MPI_Grequest_complete", "MPI_Grequest_start"]),
    // Of a call that MPI has accepted.
    ("mpi-tool-layer/tests/tools/panics.rs", &["MPI_Comm_rank"]),
    // An info object that is predefined, or that MPI has made and that was not freed.
    ("tools/mpi-check/src/arguments/infos.rs", &["MPI_Info_get_nkeys", "MPI_Info_get_valuelen"]),
    // A group that MPI has made and that was not freed.
    ("tools/mpi-check/src/arguments/lists.rs", &["MPI_Group_size"]),
    // A window that MPI has just made in the call.
    ("tools/mpi-check/src/epochs/targets.rs", &["MPI_Win_get_attr"]),
    // The world, once it is there.
    ("tools/mpi-check/src/arguments/meaning.rs", &["MPI_Comm_get_attr"]),
    // A communicator that MPI has made or that is predefined, and that has not been freed: the kit knows it.
    ("tools/mpi-check/src/comms.rs", &["MPI_Comm_rank"]),
    // A communicator that MPI has made or that is predefined, and that has not been freed: the kit knows it.
    (
        "tools/mpi-check/src/neighbors.rs",
        &[
            "MPI_Cart_get",
            "MPI_Cart_shift",
            "MPI_Cartdim_get",
            "MPI_Comm_rank",
            "MPI_Dist_graph_neighbors",
            "MPI_Dist_graph_neighbors_count",
            "MPI_Graph_neighbors",
            "MPI_Graph_neighbors_count",
            "MPI_Topo_test",
        ],
    ),
    // Communicators of the tool's own, with errors that return; and the world, at its beginning and at its end.
    (
        "tools/mpi-check/src/hosts/comm.rs",
        &[
            "MPI_Comm_create",
            "MPI_Comm_free",
            "MPI_Comm_get_errhandler",
            "MPI_Comm_group",
            "MPI_Comm_set_errhandler",
            "MPI_Errhandler_free",
            "MPI_Group_free",
            "MPI_Iallgather",
            "MPI_Iallreduce",
            "MPI_Ibarrier",
            "MPI_Igather",
            "MPI_Iprobe",
            "MPI_Irecv",
            "MPI_Issend",
            "MPI_Op_create",
            "MPI_Op_free",
            "MPI_Recv",
            "MPI_Send",
            "MPI_Test",
            "MPI_Testsome",
            "MPI_Type_commit",
            "MPI_Type_contiguous",
            "MPI_Type_free",
            "MPI_Wait",
        ],
    ),
    // A communicator that an accepted call has just made.
    ("tools/mpi-check/src/hosts/mod.rs", &["MPI_Comm_test_inter"]),
    // No object.
    ("tools/mpi-check/src/lib.rs", &["MPI_Query_thread"]),
    ("tools/mpi-perturb/src/lib.rs", &["MPI_Query_thread"]),
    ("tools/mpi-watch/src/run.rs", &["MPI_Query_thread"]),
    // A datatype that an accepted call has just made.
    (
        "tools/mpi-check/src/made_types.rs",
        &["MPI_Type_get_extent_x", "MPI_Type_get_true_extent_x", "MPI_Type_size_x"],
    ),
    // The one place.
    ("mpi-tool-layer/src/call/asking.rs", &["*"]),
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The functions of MPI that a source calls below all tools: `pmpi::MPI_X(…)`. What is generated from the list
/// passes on the application's own calls (`pmpi::$c_name`).
fn called(source: &str) -> BTreeSet<&str> {
    let code = source.split("\n#[cfg(test)]\nmod ").next().unwrap();
    let after = code.split("pmpi::").skip(1);
    after
        .filter_map(|after| {
            let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')?;
            let (name, rest) = after.split_at(end);
            (name.starts_with("MPI_") && rest.starts_with('(')).then_some(name)
        })
        .collect()
}

#[test]
fn questions_to_mpi_stand_in_one_place() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    for folder in
        ["mpi-tool-layer/src", "mpi-tool-layer/examples", "mpi-tool-layer/tests/tools", "tools"]
    {
        sources(&root.join(folder), &mut files);
    }
    let mut seen = BTreeSet::new();
    for file in &files {
        let name = file.strip_prefix(root).unwrap().to_str().unwrap();
        let source = fs::read_to_string(file).unwrap();
        let known =
            ALLOWED.iter().find(|(known, _)| *known == name).map_or(&[][..], |known| known.1);
        for function in called(&source) {
            seen.insert(name.to_owned());
            assert!(
                known == ["*"] || known.contains(&function),
                "{name} calls {function} below all tools: if that is a question about the application's \
                 objects, it belongs into src/call/asking.rs"
            );
        }
        // Names without their module would be seen by nobody.
        for import in source.lines().filter(|line| line.trim_start().starts_with("use ")) {
            let imports = import.contains("pmpi::{") || import.contains("pmpi::MPI_");
            assert!(!imports, "{name}: {import:?} hides what is called below all tools");
        }
    }
    // The test reads what it should.
    for (name, _) in ALLOWED {
        assert!(seen.contains(name), "{name} calls nothing any more");
    }
    assert!(
        called("unsafe { pmpi::MPI_Type_size(a, b) }; x(pmpi::MPI_INT)").contains("MPI_Type_size")
    );
    assert_eq!(called("x(pmpi::MPI_INT) == pmpi::MPI_COMM_NULL").len(), 0);
}
