//! Molecular dynamics of copper with short-ranged forces in link cells: the algorithm and the communication
//! of CoMD, six messages a step for atoms and, with the embedded-atom method, six for its forces.
//!
//! Potentials: Lennard-Jones as in CoMD, and Sutton and Chen's for copper (Phil. Mag. Lett. 61, 1990) for
//! the embedded-atom method. Units: angstrom, electronvolt, femtosecond, kelvin. Every run checks itself:
//! the energy of the perfect crystal, the number of atoms, energy and momentum over time.

mod domain;
mod exchange;
mod motion;
mod potential;

use std::error::Error;

use clap::Parser;

use domain::Domain;
use motion::BOLTZMANN;
use potential::crystal_energy;

#[derive(Parser)]
#[command(about = "Molecular dynamics with link cells, as CoMD does it")]
struct Arguments {
    /// Unit cells (of four atoms) in each direction, over all ranks
    #[arg(short = 'x', long, default_value_t = 20)]
    nx: usize,
    #[arg(short = 'y', long, default_value_t = 20)]
    ny: usize,
    #[arg(short = 'z', long, default_value_t = 20)]
    nz: usize,
    /// Ranks in each direction
    #[arg(short = 'i', long, default_value_t = 1)]
    xproc: usize,
    #[arg(short = 'j', long, default_value_t = 1)]
    yproc: usize,
    #[arg(short = 'k', long, default_value_t = 1)]
    zproc: usize,
    /// The embedded-atom method, in place of Lennard-Jones
    #[arg(short = 'e', long)]
    eam: bool,
    #[arg(short = 'N', long, default_value_t = 100)]
    steps: usize,
    /// Steps between lines of output
    #[arg(short = 'n', long, default_value_t = 10)]
    print: usize,
    /// A step in femtoseconds
    #[arg(short = 'd', long, default_value_t = 1.0)]
    dt: f64,
    /// Kelvin at the beginning
    #[arg(short = 'T', long, default_value_t = 600.0)]
    temperature: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let context = rmpi::init()?;
    let mut domain = Domain::new(&context, &arguments)?;
    let is_first = domain.place == [0; 3];
    domain.set_temperature(arguments.temperature)?;
    domain.redistribute()?;
    domain.compute_force()?;
    domain.sum_energies()?;

    let atoms = domain.atoms as f64;
    let expected = crystal_energy(arguments.eam);
    let first = domain.potential_energy / atoms;
    if is_first {
        println!(
            "{} atoms, {first:.8} eV an atom in the crystal ({expected:.8} by its lattice)",
            atoms
        );
        println!("#  step      energy/atom   potential/atom   kelvin   atoms");
    }
    let energy = |domain: &Domain<'_>| (domain.potential_energy + domain.kinetic_energy) / atoms;
    let before = energy(&domain);
    let start = domain.context.wtime();
    let (mut step, mut drift, mut lost) = (0, 0.0_f64, false);
    loop {
        let now = domain.count_atoms()?;
        lost |= now != domain.atoms;
        drift = drift.max((energy(&domain) - before).abs());
        if is_first {
            let (all, potential) = (energy(&domain), domain.potential_energy / atoms);
            let kelvin = domain.temperature();
            println!("{step:7} {all:16.8} {potential:16.8} {kelvin:8.2} {now:7}");
        }
        if step >= arguments.steps {
            break;
        }
        let next = arguments.print.clamp(1, arguments.steps - step);
        domain.steps(next, arguments.dt)?;
        step += next;
    }
    let seconds = domain.context.wtime() - start;
    if is_first {
        println!(
            "microseconds an atom and step: {:.4}",
            seconds * 1e6 / atoms / step.max(1) as f64
        );
        println!("largest change of energy: {drift:.2e} eV an atom");
    }
    let wrong = (first - expected).abs() > 1e-6 * expected.abs();
    // A thousandth of the heat.
    let drifts = drift > 1e-3 * (1.5 * BOLTZMANN * arguments.temperature).max(1e-3);
    if wrong || drifts || lost {
        return Err("the results are not those of this crystal".into());
    }
    Ok(())
}
