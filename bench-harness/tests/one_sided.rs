//! Red-black SOR with every kind of epoch: C, rmpi and one process compute the same numbers.

use std::env;
use std::path::Path;
use std::process::Command;

#[test]
fn sor_is_the_same_in_c_on_rmpi_and_on_one_process() {
    let setting = |name: &str| {
        let value = env::var_os(name);
        value.unwrap_or_else(|| panic!("{name} is not set: run the tests by `cargo xtask test`"))
    };
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("libone_sided.so");
    let compiled = Command::new(setting("MPICC"))
        .args(["-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("c/one_sided.c"))
        .status()
        .unwrap();
    assert!(compiled.success());
    for ranks in [1, 2, 4] {
        let mut command = Command::new("timeout");
        command
            .args(["--kill-after=5", "60"])
            .arg(setting("MPIEXEC"))
            .args(["-n", &ranks.to_string()])
            .arg(env!("CARGO_BIN_EXE_one_sided"))
            .arg(&library)
            .arg("check");
        let output = test_support::output(&mut command);
        let said = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(&format!("the same on {ranks} ranks")), "{said}\n{errors}");
    }
}
