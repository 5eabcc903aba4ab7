//! The method `tools/validate`, which tells whether a call would be accepted without calling the tool.

use mgp_types::{Error, Response};
use serde::Serialize;

use super::call::unknown_tool;
use crate::server_shared::ServerShared;
use crate::signature::Violation;
use crate::tool::{CallInput, arguments};

#[derive(Serialize)]
struct ValidateResult {
    valid: bool,
    errors: Vec<Violation>,
    schema_dialect: String,
}

/// Answers whether the named tool would accept the arguments, with all that is wrong with them.
pub(crate) async fn validate(input: CallInput) -> Result<Response, Error> {
    let shared = ServerShared::of(&input.extras)?;
    let params = input.request.params;
    let name = params.text("name").ok_or_else(|| Error::invalid_params("`name` is missing"))?.into_owned();
    let tool = shared.catalog().tools.get(&name).cloned().ok_or_else(|| unknown_tool(&name))?;
    let arguments = arguments::members(&params).map_err(|fault| Error::invalid_params(fault.0))?;
    let errors = tool.checks().all_violations(&shared.context.about.registry, arguments).await?;
    let schema_dialect = tool.checks().dialect();
    Response::with_body(&ValidateResult { valid: errors.is_empty(), errors, schema_dialect })
}
