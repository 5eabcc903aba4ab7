//! The validator `readonly`.

use mgp_types::mcp::ToolAnnotations;
use mgp_types::mgp::ValidatorName;

use crate::Finding;
use crate::tool::ArgumentNature;
use crate::validator::call::{CallArgument, ValidatedCall};
use crate::validator::readonly::{check_command_reads, check_http_method, check_sql, check_tool_name};
use crate::validator::sandbox::literal_commands;
use crate::validator::validate::{BlockedCall, Validator};

/// The validator `readonly`: the tool only reads or, if its arguments tell it what to do, the arguments only ask for
/// reads.
#[derive(Debug, Clone, Copy)]
pub struct ReadonlyValidator;

impl Validator for ReadonlyValidator {
    fn name(&self) -> &ValidatorName {
        &ValidatorName::Readonly
    }

    fn check(&self, call: &ValidatedCall<'_>) -> Result<(), BlockedCall> {
        let annotations = call.definition().get("annotations");
        let annotations: Option<ToolAnnotations> = match annotations.map(|raw| raw.to()).transpose() {
            Ok(annotations) => annotations,
            Err(_) => return Err(Finding::new("writes", "the tool's annotations cannot be read").into()),
        };
        let tells = |argument: &CallArgument| TELLING.contains(&argument.nature);
        if !call.arguments.iter().any(tells) {
            check_tool_name(call.tool.name.as_str(), annotations.as_ref())?;
        }
        for argument in &call.arguments {
            argument.check(|text| match argument.nature {
                ArgumentNature::Sql => check_sql(text),
                ArgumentNature::HttpMethod => check_http_method(text),
                ArgumentNature::Command => check_line(text),
                _ => Ok(()),
            })?;
        }
        Ok(())
    }
}

/// Checks that every command of a command line only reads.
fn check_line(line: &str) -> Result<(), Finding> {
    for command in literal_commands(line)? {
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        check_command_reads(&words)?;
    }
    Ok(())
}

/// The natures of arguments that show themselves whether the call reads or writes, so that the name of the tool need
/// not.
const TELLING: [ArgumentNature; 3] =
    [ArgumentNature::Sql, ArgumentNature::HttpMethod, ArgumentNature::Command];
