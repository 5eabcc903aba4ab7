//! The judge of a tool's arguments, which names each of their faults.

use mgp_types::RawJson;
use serde_json::Value;

use super::{Schema, SchemaFault, Violation};

/// A schema that judges arguments, and says of each fault what is wrong and what would be right.
#[derive(Debug)]
pub struct ArgumentJudge {
    schema: Value,
    compiled: Schema,
}

impl ArgumentJudge {
    /// Compiles a schema that somebody wrote, and enforces `format`.
    ///
    /// # Errors
    /// Fails as [`Schema::compile`] does.
    pub fn compile(schema: &RawJson) -> Result<Self, SchemaFault> {
        Self::of(schema, Schema::compile_with_formats)
    }

    /// Compiles a schema whose patterns take linear time.
    ///
    /// # Errors
    /// Fails as [`Schema::compile_linear`] does.
    pub fn compile_linear(schema: &RawJson) -> Result<Self, SchemaFault> {
        Self::of(schema, Schema::compile_linear)
    }

    fn of(
        schema: &RawJson,
        compile: impl FnOnce(&RawJson) -> Result<Schema, SchemaFault>,
    ) -> Result<Self, SchemaFault> {
        Ok(Self { compiled: compile(schema)?, schema: Schema::read_schema(schema)? })
    }

    /// Returns the faults of the arguments, those that explain others first.
    pub fn violations(&self, arguments: &Value) -> Vec<Violation> {
        let unmet = self.compiled.unmet_demands(arguments, MAX_VIOLATIONS).into_iter();
        let mut found: Vec<_> =
            unmet.flat_map(|demand| Violation::of_demand(&self.schema, arguments, demand)).collect();
        found.sort_by_key(Violation::rank);
        found.truncate(MAX_VIOLATIONS);
        found
    }
}

/// The largest number of faults that are reported at once.
const MAX_VIOLATIONS: usize = 100;
