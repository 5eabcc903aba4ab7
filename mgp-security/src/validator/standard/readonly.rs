use mgp_types::mcp::ToolAnnotations;
use mgp_types::mgp::ValidatorName;

use crate::Finding;
use crate::tool::Nature;
use crate::validator::call::Call;
use crate::validator::readonly::{check_http_method, check_sql, check_tool_name};
use crate::validator::sandbox::check_reads;
use crate::validator::validate::{Blocked, Validator};

/// `readonly`: the tool, and what its arguments tell it to do, only read.
#[derive(Debug, Clone, Copy)]
pub struct Readonly;

impl Validator for Readonly {
    fn name(&self) -> &ValidatorName {
        &ValidatorName::Readonly
    }

    fn check(&self, call: &Call<'_>) -> Result<(), Blocked> {
        let annotations = call.definition().get("annotations");
        let annotations: Option<ToolAnnotations> = match annotations.map(|raw| raw.to()).transpose() {
            Ok(annotations) => annotations,
            Err(_) => return Err(Finding::new("writes", "the tool's annotations cannot be read").into()),
        };
        check_tool_name(call.tool.name.as_str(), annotations.as_ref())?;
        for argument in &call.arguments {
            argument.check(|text| match argument.nature {
                Nature::Sql => check_sql(text),
                Nature::HttpMethod => check_http_method(text),
                Nature::Command => check_reads(text),
                _ => Ok(()),
            })?;
        }
        Ok(())
    }
}
