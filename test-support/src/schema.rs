//! The reports' JSON Schemas, which all reports that tests read must obey.

use boon::{Compiler, Schemas};
use serde_json::Value;

const SCHEMAS: [(&str, &str); 5] = [
    ("mpi-tool-check/1", include_str!("../../docs/schemas/mpi-tool-check-1.json")),
    ("mpi-tool-log/1", include_str!("../../docs/schemas/mpi-tool-log-1.json")),
    ("mpi-tool-report/1", include_str!("../../docs/schemas/mpi-tool-report-1.json")),
    ("mpi-tool-report/2", include_str!("../../docs/schemas/mpi-tool-report-2.json")),
    ("mpi-tool-samples/1", include_str!("../../docs/schemas/mpi-tool-samples-1.json")),
];

/// Reads a report, which must be as the schema of its name says.
///
/// # Panics
/// If it is not.
pub fn report(text: &str) -> Value {
    let report: Value =
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let name = report["schema"].as_str().unwrap_or_else(|| panic!("no schema: {text}"));
    let known = SCHEMAS.iter().find(|(known, _)| *known == name);
    let (_, schema) = known.unwrap_or_else(|| panic!("{name} has no JSON Schema"));
    let mut compiler = Compiler::new();
    let mut schemas = Schemas::new();
    let location = format!("report:/{name}");
    compiler.add_resource(&location, serde_json::from_str(schema).unwrap()).unwrap();
    let index = compiler.compile(&location, &mut schemas).unwrap();
    if let Err(error) = schemas.validate(&report, index) {
        panic!("a report is not as docs/schemas says: {error:#}\n{text}");
    }
    report
}
