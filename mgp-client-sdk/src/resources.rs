//! Resources, prompts, completion and the server's description.

use mgp_types::mcp::{
    CompleteParams, CompleteResult, CompletionArgument, CompletionContext, DiscoverParams, DiscoverResult,
    EmptyResult, GetPromptResult, ListPromptsParams, ListResourceTemplatesParams, ListResourcesParams, Map,
    Prompt, ReadResourceParams, ReadResourceResult, Reference, Resource, ResourceTemplate, SubscribeParams,
    UnsubscribeParams,
};
use mgp_types::{Error, Method, Response, RpcService};
use serde::Serialize;

use crate::tools::named_request;
use crate::{Call, Client, Pages};

impl<S: RpcService> Client<S> {
    /// Lists the resources, page by page.
    pub fn resources(&self) -> Pages<S, ListResourcesParams> {
        Pages::new(self.clone())
    }

    /// Lists all resources.
    ///
    /// # Errors
    /// The server refuses, or the connection is lost.
    pub async fn list_resources(&self) -> Result<Vec<Resource>, Error> {
        self.resources().all().await
    }

    /// Lists the templates of resources, page by page.
    pub fn resource_templates(&self) -> Pages<S, ListResourceTemplatesParams> {
        Pages::new(self.clone())
    }

    /// Lists all templates of resources.
    ///
    /// # Errors
    /// The server refuses, or the connection is lost.
    pub async fn list_resource_templates(&self) -> Result<Vec<ResourceTemplate>, Error> {
        self.resource_templates().all().await
    }

    /// Reads a resource.
    pub fn read_resource(&self, uri: impl Into<String>) -> Call<S, ReadResourceResult> {
        self.send(&ReadResourceParams::new(uri))
    }

    /// Asks for notifications of one resource's changes, in a session. [`subscribe`](Self::subscribe) works in both
    /// eras and delivers the changes.
    pub fn subscribe_resource(&self, uri: impl Into<String>) -> Call<S, EmptyResult> {
        self.send(&SubscribeParams::new(uri))
    }

    /// Ends [`subscribe_resource`](Self::subscribe_resource).
    pub fn unsubscribe_resource(&self, uri: impl Into<String>) -> Call<S, EmptyResult> {
        self.send(&UnsubscribeParams::new(uri))
    }

    /// Lists the prompts, page by page.
    pub fn prompts(&self) -> Pages<S, ListPromptsParams> {
        Pages::new(self.clone())
    }

    /// Lists all prompts.
    ///
    /// # Errors
    /// The server refuses, or the connection is lost.
    pub async fn list_prompts(&self) -> Result<Vec<Prompt>, Error> {
        self.prompts().all().await
    }

    /// Gets a prompt. The arguments are an object of texts, or `()` for none.
    pub fn get_prompt(&self, name: &str, arguments: impl Serialize) -> Call<S, GetPromptResult> {
        self.call(named_request(Method::PROMPTS_GET, name, &arguments), Response::body)
    }

    /// Asks for values that complete an argument; `given` are the arguments that are known already.
    pub fn complete(
        &self,
        reference: impl Into<Reference>,
        argument: impl Into<String>,
        typed: impl Into<String>,
        given: Map<String>,
    ) -> Call<S, CompleteResult> {
        let mut params = CompleteParams::new(reference, CompletionArgument::new(argument, typed));
        if !given.is_empty() {
            params.context = Some(CompletionContext::new().with_arguments(given));
        }
        self.send(&params)
    }

    /// Asks for the server's description, in the era without sessions.
    pub fn discover(&self) -> Call<S, DiscoverResult> {
        self.send(&DiscoverParams::new())
    }
}
