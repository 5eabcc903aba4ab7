//! Binary arguments of calls.

use mgp_transport::http::BinaryArguments;
use mgp_types::ext::ToolDeclaration;
use mgp_types::mcp::CallToolResult;
use mgp_types::{Request, RpcService};

use crate::Call;

/// The value of `binary_transport` of tools that take binary arguments as parts of an HTTP request.
const MULTIPART: &str = "multipart";

/// Lets a call have parts, if its tool takes them.
pub(super) fn let_parts(request: &mut Request, declared: &ToolDeclaration) {
    if declared.binary_transport.as_deref() == Some(MULTIPART) {
        request.extensions.insert(BinaryArguments::default());
    }
}

impl<S: RpcService> Call<S, CallToolResult> {
    /// Sets an argument to bytes, which the tool sees in base64.
    ///
    /// A call made with [`Client::call_listed`](crate::Client::call_listed) carries the bytes as they are over Streamable
    /// HTTP, in parts of their own, if its tool declares `binary_transport: "multipart"`. A media type that is no visible
    /// ASCII is an error of the call, and so are more than 64 such arguments.
    ///
    /// ```no_run
    /// # use mgp_client_sdk::{Client, Error, RpcService, json, mcp::Tool};
    /// # async fn sum<S: RpcService>(client: &Client<S>, tool: &Tool, picture: Vec<u8>) -> Result<(), Error> {
    /// let call = client.call_listed(tool, json!({"scale": 2})).attach("picture", "image/png", picture);
    /// let result = call.await?;
    /// # drop(result); Ok(()) }
    /// ```
    pub fn attach(mut self, argument: &str, media_type: &str, content: impl Into<Vec<u8>>) -> Self {
        let content = content.into();
        self.request = self.request.and_then(|mut request| {
            BinaryArguments::attach(&mut request, argument, media_type, content)?;
            Ok(request)
        });
        self
    }
}
