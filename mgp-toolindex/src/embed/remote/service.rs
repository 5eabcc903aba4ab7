//! Embedding services that are MGP or MCP servers.

use std::future::poll_fn;
use std::sync::Arc;

use mgp_types::mcp::{CallToolParams, CallToolResult};
use mgp_types::{BoxFuture, Method, RawJson, Request, RpcService};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::{EmbeddingAnswer, MOST_NAME, PROBE, dimension, in_parts, in_time, same_model};
use crate::embed::{EmbedError, Embedder, Purpose, checked};

/// An MGP or MCP server whose tool `embed` turns text into vectors.
///
/// The tool takes `{"texts": [string], "purpose": "query" | "passage"}` and has the structured result `{"embeddings":
/// [[number]], "model": string, "dimension": integer}`.
pub struct ServiceEmbedder<S> {
    server: Arc<EmbeddingServer<S>>,
}

struct EmbeddingServer<S> {
    /// The service, of which clones are used. The lock is there because a service need not be `Sync`.
    service: Mutex<S>,
    id: String,
    model: String,
    dimension: usize,
}

impl<S: RpcService> ServiceEmbedder<S> {
    /// Asks the server for its model, by embedding a text.
    ///
    /// # Errors
    /// The server has no tool `embed`, or one of another kind, or does not answer.
    pub async fn connect(service: S) -> Result<Self, EmbedError> {
        let answer = in_time(ask(service.clone(), vec![PROBE.into()], Purpose::Query)).await?;
        let dimension = dimension(&answer)?;
        let model = answer.model;
        if model.is_empty() || model.chars().count() > MOST_NAME {
            return Err(EmbedError::new("the embedding service does not name its model"));
        }
        checked(answer.vectors, 1, dimension)?;
        let id = format!("service:{model}:{dimension}");
        Ok(Self { server: Arc::new(EmbeddingServer { service: Mutex::new(service), id, model, dimension }) })
    }
}

impl<S: RpcService> Embedder for ServiceEmbedder<S> {
    fn id(&self) -> &str {
        &self.server.id
    }

    fn dimension(&self) -> usize {
        self.server.dimension
    }

    fn embed(
        &self,
        texts: Vec<String>,
        purpose: Purpose,
    ) -> BoxFuture<'static, Result<Vec<Vec<f32>>, EmbedError>> {
        let server = Arc::clone(&self.server);
        Box::pin(in_parts(texts, move |texts| {
            let server = Arc::clone(&server);
            async move {
                let count = texts.len();
                let service = server.service.lock().clone();
                let answer = in_time(ask(service, texts, purpose)).await?;
                same_model(&answer.model, &server.model)?;
                checked(answer.vectors, count, server.dimension)
            }
        }))
    }
}

mgp_types::partial_debug!([S] ServiceEmbedder<S>, self => id: self.server.id);

#[derive(Serialize)]
struct EmbedArguments {
    texts: Vec<String>,
    purpose: &'static str,
}

#[derive(Deserialize)]
struct EmbedResult {
    embeddings: Vec<Vec<f32>>,
    model: String,
    dimension: usize,
}

const TOOL: &str = "embed";

async fn ask(
    mut service: impl RpcService,
    texts: Vec<String>,
    purpose: Purpose,
) -> Result<EmbeddingAnswer, EmbedError> {
    let asked = EmbedArguments { texts, purpose: purpose.as_str() };
    let arguments =
        RawJson::from_value(&asked).map_err(|_| EmbedError::new("the texts cannot be written as JSON"))?;
    let params = CallToolParams::new(TOOL).with_arguments(arguments);
    let failed = |error: mgp_types::Error| EmbedError::new(format!("the embedding service: {error}"));
    let request = Request::with_body(Method::TOOLS_CALL, &params).map_err(failed)?;
    poll_fn(|cx| service.poll_ready(cx)).await.map_err(failed)?;
    let result: CallToolResult = service.call(request).await.map_err(failed)?.body().map_err(failed)?;
    if result.is_error() {
        return Err(EmbedError::new("the tool `embed` of the embedding service failed"));
    }
    let structured = result.structured_content.ok_or_else(|| {
        EmbedError::new("the tool `embed` of the embedding service has no structured result")
    })?;
    let embedded: EmbedResult = structured.to().map_err(|error| {
        EmbedError::new(format!("the result of the tool `embed` of the embedding service: {error}"))
    })?;
    let dimension = embedded.dimension;
    if embedded.embeddings.iter().any(|vector| vector.len() != dimension) {
        return Err(EmbedError::new(format!("not all vectors have the declared dimension {dimension}")));
    }
    Ok(EmbeddingAnswer { vectors: embedded.embeddings, model: embedded.model })
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll};

    use mgp_types::{Error, Response};
    use serde_json::{Value, json};
    use tower_service::Service;

    use super::*;

    /// A server that answers by a script.
    #[derive(Clone)]
    struct Scripted(Arc<dyn Fn(Value) -> Result<Value, Error> + Send + Sync>);

    impl Service<Request> for Scripted {
        type Response = Response;
        type Error = Error;
        type Future = std::future::Ready<Result<Response, Error>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, request: Request) -> Self::Future {
            assert_eq!(request.method, Method::TOOLS_CALL);
            let params: Value = request.body().unwrap();
            assert_eq!(params["name"], TOOL);
            let answer = (self.0)(params["arguments"].clone());
            std::future::ready(answer.map(|answer| Response::with_body(&answer).unwrap()))
        }
    }

    fn structured(content: &Value) -> Value {
        json!({ "content": [], "structuredContent": content })
    }

    /// Returns vectors by the length of each text, and whether it is a query.
    fn honest(arguments: &Value) -> Value {
        let number = if arguments["purpose"] == "query" { 1.0 } else { 2.0 };
        let texts = arguments["texts"].as_array().unwrap();
        assert!(texts.len() <= 64);
        let embeddings: Vec<_> =
            texts.iter().map(|text| json!([text.as_str().unwrap().len(), number])).collect();
        json!({ "embeddings": embeddings, "model": "lengths", "dimension": 2 })
    }

    async fn connect(
        answer: impl Fn(Value) -> Result<Value, Error> + Send + Sync + 'static,
    ) -> Result<ServiceEmbedder<Scripted>, EmbedError> {
        ServiceEmbedder::connect(Scripted(Arc::new(answer))).await
    }

    #[tokio::test]
    async fn the_tool_embed_is_called_with_texts_and_their_purpose() {
        let embedder = connect(|arguments| Ok(structured(&honest(&arguments)))).await.unwrap();
        assert_eq!((embedder.id(), embedder.dimension()), ("service:lengths:2", 2));
        let texts = vec!["a".to_owned(), "abc".to_owned()];
        let vectors = embedder.embed(texts.clone(), Purpose::Query).await.unwrap();
        assert_eq!(vectors, [[1.0, 1.0], [3.0, 1.0]]);
        let vectors = embedder.embed(texts, Purpose::Passage).await.unwrap();
        assert_eq!(vectors, [[1.0, 2.0], [3.0, 2.0]]);
    }

    #[tokio::test]
    async fn many_texts_are_sent_in_several_calls() {
        let embedder = connect(|arguments| Ok(structured(&honest(&arguments)))).await.unwrap();
        let texts: Vec<_> = (0..200).map(|length| "x".repeat(length)).collect();
        let vectors = embedder.embed(texts, Purpose::Query).await.unwrap();
        let expected: Vec<_> = (0_u16..200).map(|length| vec![f32::from(length), 1.0]).collect();
        assert_eq!(vectors, expected);
    }

    #[tokio::test]
    async fn a_service_that_answers_something_else_is_refused() {
        for (answer, said) in [
            (
                structured(&json!({ "embeddings": [], "model": "m", "dimension": 2 })),
                "1 texts have 0 vectors",
            ),
            (
                structured(&json!({ "embeddings": [[]], "model": "m", "dimension": 0 })),
                "a vector has 0 numbers",
            ),
            (structured(&json!({ "embeddings": [[1]], "model": "m", "dimension": 2 })), "not all vectors"),
            (
                structured(&json!({ "embeddings": [[1]], "model": "", "dimension": 1 })),
                "does not name its model",
            ),
            (structured(&json!({ "embeddings": [[null]], "model": "m", "dimension": 1 })), "invalid type"),
            (json!({ "content": [] }), "no structured result"),
            (json!({ "content": [], "isError": true }), "failed"),
            (json!({}), "does not have the shape"),
        ] {
            let shown = answer.to_string();
            let error = connect(move |_| Ok(answer.clone())).await.unwrap_err().to_string();
            assert!(error.contains(said), "{shown}: {error}");
        }
        let endless = structured(&json!({ "embeddings": [[1e300]], "model": "m", "dimension": 1 }));
        assert!(connect(move |_| Ok(endless.clone())).await.is_err());
        assert!(connect(|_| Err(Error::internal("gone"))).await.is_err());
    }

    #[tokio::test]
    async fn vectors_of_another_form_or_model_are_refused_later_as_well() {
        for (texts, answer) in [
            (2, json!({ "embeddings": [[1, 2]], "model": "lengths", "dimension": 2 })),
            (1, json!({ "embeddings": [[1, 2, 3]], "model": "lengths", "dimension": 3 })),
            (1, json!({ "embeddings": [[1, 2]], "model": "widths", "dimension": 2 })),
        ] {
            let embedder = connect(move |arguments| {
                let first = arguments["texts"][0] == PROBE;
                Ok(structured(&if first { honest(&arguments) } else { answer.clone() }))
            });
            let embedder = embedder.await.unwrap();
            assert!(embedder.embed(vec!["x".into(); texts], Purpose::Passage).await.is_err());
        }
    }
}
