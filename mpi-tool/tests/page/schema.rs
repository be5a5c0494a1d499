//! The schema of comparisons.

use serde_json::Value;

/// Says that a comparison is as its schema says.
pub(crate) fn check(comparison: &Value) {
    let schema = include_str!("../../../docs/schemas/mpi-tool-comparison-1.json");
    let mut schemas = boon::Schemas::new();
    let mut compiler = boon::Compiler::new();
    compiler.add_resource("comparison:/1", serde_json::from_str(schema).unwrap()).unwrap();
    let index = compiler.compile("comparison:/1", &mut schemas).unwrap();
    if let Err(error) = schemas.validate(comparison, index) {
        panic!("{error:#}");
    }
}
