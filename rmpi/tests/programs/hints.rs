//! Hints whose values MPI does not look at before it computes with them: what rmpi refuses, and that MPI bears what
//! rmpi does not refuse.

use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::{env, fs, process};

use rmpi::{
    AccessMode, Communicator, Datatype, DatatypeRef, ErrorClass, File, Info, MpiOp, RmpiResult,
};

/// Which hints are refused, with these values among others.
const REFUSED: [(&str, &[&str]); 5] = [
    ("cb_nodes", &["0", "-1", "abc", "", "1x", "+1", "4294967297", "99999999999999999999"]),
    ("cb_buffer_size", &["0", "-1", "abc", "", "1", "4294967297", "99999999999999999999"]),
    ("ind_rd_buffer_size", &["0", "-1", "abc", "", "4294967296", "99999999999999999999"]),
    ("ind_wr_buffer_size", &["0", "-1", "abc", "", "2147483647", "99999999999999999999"]),
    ("romio_cb_pfr", &["enable", "ENABLE", " enable ", "automatic"]),
];

/// What is not refused: the bounds of the others, and numbers where MPI expects words or other numbers.
const ACCEPTED: [(&str, &[&str]); 10] = [
    ("cb_nodes", &["1", "2147483647"]),
    ("cb_buffer_size", &["1024", "1048576"]),
    ("ind_rd_buffer_size", &["1", "1048576"]),
    ("ind_wr_buffer_size", &["1", "1048576"]),
    ("romio_cb_pfr", &["disable"]),
    ("striping_unit", &["0", "-1", "abc", "99999999999999999999"]),
    ("striping_factor", &["0", "-1", "abc", "99999999999999999999"]),
    ("romio_cb_fr_alignment", &["0", "-1"]),
    ("romio_min_fdomain_size", &["0", "-1"]),
    ("romio_cb_write", &["0", "enable"]),
];

fn main() -> RmpiResult {
    let context = rmpi::init()?;
    let world = context.world();
    let size = world.size()?;
    for (key, values) in REFUSED {
        for value in values {
            for key in [key.to_owned(), key.to_uppercase(), format!(" {key}")] {
                let mut info = Info::new(&context)?;
                let error = set(&mut info, &key, value).expect_err("refused");
                assert_eq!(error.class(), ErrorClass::INFO_VALUE, "{key}={value}");
                assert!(error.text().contains(key.trim().to_lowercase().as_str()), "{error}");
                assert!(error.text().contains("leave it out"), "{error}");
                assert_eq!(info.get_nkeys()?, 0);
            }
        }
    }
    let mut folder = [0_u32];
    if world.rank()? == 0 {
        folder[0] = process::id();
    }
    world.process(0).bcast(&mut folder)?;
    let path = env::temp_dir().join(format!("rmpi-hints-{}", folder[0]));
    for (key, values) in ACCEPTED {
        for value in values {
            let mut info = Info::new(&context)?;
            set(&mut info, key, value)?;
            use_file(world, &path, &info).unwrap_or_else(|error| panic!("{key}={value}: {error}"));
        }
    }
    let mut sum = 0;
    world.allreduce(&1, &mut sum, MpiOp::SUM)?;
    assert_eq!(sum, size);
    if world.rank()? == 0 {
        println!("right on {size} ranks");
    }
    Ok(())
}

fn set(info: &mut Info<'_>, key: &str, value: &str) -> RmpiResult {
    let text = |text: &str| CString::new(text).expect("no zeros");
    info.set(&text(key), &text(value))
}

/// Writes and reads a file, as one process and as all, with holes and without.
fn use_file(world: &Communicator<'_>, path: &Path, info: &Info<'_>) -> RmpiResult {
    let (rank, size) = (world.rank()?, world.size()?);
    let path: PathBuf = path.into();
    let mode = AccessMode::CREATE | AccessMode::RDWR;
    let mut file = File::open(world, &path, mode, Some(info))?;
    let (numbers, mut back) = (vec![rank as i32; 200], vec![-1; 200]);
    let at = (rank * 800) as u64;
    file.write_at(at, &numbers)?;
    file.write_at_all(at, &numbers)?;
    file.read_at_all(at, &mut back)?;
    assert_eq!(back, numbers);
    // Blocks of ten of each process in turn.
    let number = DatatypeRef::of::<i32>(world)?;
    let blocks = Datatype::vector(world, 20, 10, 10 * size as isize, &number)?.commit()?;
    file.set_view(at / 20, number, blocks.as_ref(), c"native", Some(info))?;
    file.write_at(0, &numbers)?;
    world.barrier()?;
    back.fill(-1);
    file.read_at(0, &mut back)?;
    assert_eq!(back, numbers);
    world.barrier()?;
    file.write_at_all(0, &numbers)?;
    back.fill(-1);
    file.read_at_all(0, &mut back)?;
    assert_eq!(back, numbers);
    file.close()?;
    world.barrier()?;
    if rank == 0 {
        fs::remove_file(&path).expect("the file was written");
    }
    world.barrier()
}
