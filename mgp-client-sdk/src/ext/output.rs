//! Results that are compared with the output schema of their tool.

use mgp_security::ArgumentJudge;
use mgp_types::mcp::{CallToolResult, Tool};
use mgp_types::{Error, Response, RpcService, code};

use crate::Call;

impl<S: RpcService> Call<S, CallToolResult> {
    /// Compares the structured result with the output schema that `tool` declares. A result that does not fit is an error
    /// of the call, which names the place of each fault and no value; the tool has done its work then all the same.
    ///
    /// A failed result, and any result of a tool without an output schema, is not compared.
    pub fn check_output(mut self, tool: &Tool) -> Self {
        let Some(schema) = &tool.output_schema else { return self };
        let name = tool.name.clone();
        match ArgumentJudge::compile(schema) {
            Ok(judge) => self.check = Some(Box::new(move |response| check(&name, &judge, response))),
            Err(fault) => {
                let unusable = format!("the output of `{name}` cannot be checked: {fault}");
                self.request = self.request.and(Err(Error::new(code::INVALID_REQUEST, unusable)));
            }
        }
        self
    }
}

fn check(name: &str, judge: &ArgumentJudge, response: &Response) -> Result<(), Error> {
    let result: CallToolResult = response.body()?;
    if result.is_error == Some(true) {
        return Ok(());
    }
    let does_not_fit = |faults: &str| {
        Error::misbehaved(format!("the result of `{name}` does not fit its output schema: {faults}"))
    };
    let Some(output) = result.structured_content else {
        return Err(does_not_fit("it has no structured content"));
    };
    let output = output.to().map_err(|error| does_not_fit("it is not JSON").with_source(error))?;
    let faults: Vec<_> = judge
        .violations(&output)
        .iter()
        .take(MAX_FAULTS)
        .map(|fault| match &*fault.path {
            "" => format!("it breaks `{}`", fault.keyword),
            path => format!("`{path}` breaks `{}`", fault.keyword),
        })
        .collect();
    if faults.is_empty() { Ok(()) } else { Err(does_not_fit(&faults.join("; "))) }
}

/// The most faults that an error names.
const MAX_FAULTS: usize = 8;
