//! MPI computes with the numbers of a status: of made-up ones, MPICH counts elements for years.

use rmpi::Status;

fn main() {
    let made_up: rmpi::mpi_sys::MPI_Status = unsafe { std::mem::zeroed() };
    let status = Status::from_raw(made_up);
    println!("{:?}", status.get_elements::<(f64, u8)>());
}
