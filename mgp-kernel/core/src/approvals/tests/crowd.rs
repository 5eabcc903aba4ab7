//! Many calls at once, on many threads.

use mgp_types::{Method, Object, RawJson, Response};
use serde_json::{Value, json};
use tower_layer::Layer;
use tower_service::Service;

use super::world::{again, answers, request};
use crate::approvals::{ParkedCallLayer, ParkedCallLimits, ParkedCallService};
use crate::test_kernel::AnsweringServer;

/// Asks in its own task and in others, and answers with what it was told.
const CURIOUS: AnsweringServer = AnsweringServer(|request| {
    Box::pin(async move {
        let mut names = Vec::new();
        for _ in 0..3 {
            let question = || Object::parse(r#"{"message":"?"}"#).unwrap();
            let context = request.context.clone();
            let elsewhere = tokio::spawn(async move { context.ask("k", Method::ELICIT, question()).await });
            let here = request.context.ask("k", Method::ELICIT, question()).await?;
            for answer in [here, elsewhere.await.unwrap()?] {
                let answer: Value = answer.to().unwrap();
                names.push(answer["content"]["name"].clone());
            }
        }
        Ok(Response::new(RawJson::from_value(&json!({"told": names})).unwrap()))
    })
});

async fn talk(mut service: ParkedCallService<AnsweringServer>, name: String) -> Value {
    let mut params = json!({"name": name, "arguments": {}});
    loop {
        let response = service.call(request(&params)).await.unwrap();
        let result: Value = serde_json::from_slice(response.result.as_bytes()).unwrap();
        if result["resultType"] != "input_required" {
            return result;
        }
        params = again(&name, &result, &answers(&result, &name));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_call_gets_its_answers_and_no_others() {
    let limits = ParkedCallLimits { max_parked_per_principal: 256, ..ParkedCallLimits::default() };
    let layer = ParkedCallLayer::new(limits, None);
    let talks: Vec<_> =
        (0..100).map(|index| tokio::spawn(talk(layer.layer(CURIOUS), format!("n{index}")))).collect();
    for (index, talk) in talks.into_iter().enumerate() {
        let name = format!("n{index}");
        assert_eq!(talk.await.unwrap(), json!({"told": vec![name; 6]}));
    }
    assert_eq!(layer.0.table.len(), 0);
    // All places are free again.
    let places: Result<Vec<_>, _> = (0..256).map(|_| layer.0.quota.take(None)).collect();
    assert_eq!(places.map(|places| places.len()).map_err(|error| error.code()), Ok(256));
}
