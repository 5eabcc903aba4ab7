//! What a call tells about itself, and what is recorded of its rounds.

use std::sync::Arc;

use mgp_types::mgp::{CallRecord, RiskLevel};
use mgp_types::{
    BoxFuture, Error, Method, Object, Outbox, OutboxPort, Params, RawJson, Request, Response, StreamId,
};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tower_layer::Layer;
use tower_service::Service;

use super::world::{again, answers, request};
use crate::approvals::{ParkedCallLayer, ParkedCallLimits};
use crate::test_kernel::AnsweringServer;

async fn tell(outbox: &Outbox, progress: u32) {
    let params = json!({"progressToken": "first", "progress": progress}).to_string();
    let notification = Request::notify(Method::PROGRESS, Params::parse(params).unwrap());
    outbox.notify(notification).await.unwrap();
}

/// Tells of progress before, between and after two questions.
const TELLING: AnsweringServer = AnsweringServer(|request| {
    Box::pin(async move {
        let context = &request.context;
        tell(&context.outbox, 1).await;
        context.trail.as_ref().unwrap().note_risk(RiskLevel::Dangerous);
        let form = || Object::parse(r#"{"message":"?"}"#).unwrap();
        context.ask("a", Method::ELICIT, form()).await?;
        tell(&context.outbox, 2).await;
        let asked = async {
            tell(&context.outbox, 3).await;
            context.ask("b", Method::ELICIT, form()).await
        };
        let between = async {
            tokio::task::yield_now().await;
            tokio::task::yield_now().await;
            tell(&context.outbox, 4).await;
        };
        tokio::join!(asked, between).0?;
        tell(&context.outbox, 5).await;
        Ok(Response::empty())
    })
});

/// A client that notes what it is told.
#[derive(Default)]
struct Listening(Mutex<Vec<(StreamId, Value)>>);

impl OutboxPort for Listening {
    fn notify(&self, stream: StreamId, notification: Request) -> BoxFuture<'_, Result<(), Error>> {
        let params = serde_json::from_slice(notification.params.to_raw().as_bytes()).unwrap();
        self.0.lock().push((stream, params));
        Box::pin(std::future::ready(Ok(())))
    }

    fn call(&self, _: StreamId, _: Request) -> BoxFuture<'_, Result<Response, Error>> {
        Box::pin(std::future::ready(Err(Error::internal("a client without a session is not asked directly"))))
    }
}

struct Client {
    service: crate::approvals::ParkedCallService<AnsweringServer>,
}

impl Client {
    /// What comes of a round, and what was told on its stream and no other.
    async fn round(
        &mut self,
        mut params: Value,
        token: Option<&str>,
    ) -> (Value, Vec<Value>, Arc<CallRecord>) {
        if let Some(token) = token {
            params["_meta"] = json!({"progressToken": token});
        }
        let (listening, stream) = (Arc::new(Listening::default()), StreamId::fresh());
        let mut request = request(&params);
        let trail = Arc::new(CallRecord::default());
        request.context.trail = Some(Arc::clone(&trail));
        request.context.outbox = Outbox::new(Arc::clone(&listening) as Arc<dyn OutboxPort>, stream);
        let response = self.service.call(request).await.unwrap();
        let notifications = std::mem::take(&mut *listening.0.lock());
        assert!(notifications.iter().all(|(on, _)| *on == stream));
        let result = serde_json::from_slice(response.to_raw().as_bytes()).unwrap();
        (result, notifications.into_iter().map(|(_, params)| params).collect(), trail)
    }
}

#[tokio::test]
async fn each_round_hears_under_its_own_name_and_nothing_is_told_between() {
    let mut client =
        Client { service: ParkedCallLayer::new(ParkedCallLimits::default(), None).layer(TELLING) };
    let (first, notifications, trail) =
        client.round(json!({"name": "t", "arguments": {}}), Some("first")).await;
    assert_eq!(notifications, [json!({"progressToken": "first", "progress": 1})]);
    assert_eq!(trail.risk(), Some(RiskLevel::Dangerous));

    let (second, notifications, trail) =
        client.round(again("t", &first, &answers(&first, "A")), Some("second")).await;
    let two_and_three: Vec<_> =
        [2, 3].map(|progress| json!({"progressToken": "second", "progress": progress})).into();
    assert_eq!(notifications, two_and_three);
    // The record of the round knows what the call's is about.
    assert_eq!(trail.risk(), Some(RiskLevel::Dangerous));
    // The call goes on while its client is away, and what it tells is lost.
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }

    let (third, notifications, _) = client.round(again("t", &second, &answers(&second, "A")), None).await;
    assert_eq!(third, json!({}));
    assert_eq!(notifications, [] as [Value; 0]);
}

#[tokio::test]
async fn what_is_no_question_is_refused() {
    let pings = AnsweringServer(|request| {
        Box::pin(async move { request.context.outbox.call(Request::call("ping", Params::new())).await })
    });
    let mut service = ParkedCallLayer::new(ParkedCallLimits::default(), None).layer(pings);
    let error = service.call(request(&json!({"name": "t"}))).await.unwrap_err();
    assert_eq!(error.code(), -32601);
}

#[tokio::test]
async fn one_call_has_so_many_questions_and_no_more() {
    let curious = AnsweringServer(|request| {
        Box::pin(async move {
            let form = || Object::parse(r#"{"message":"?"}"#).unwrap();
            let ask = || request.context.ask("k", Method::ELICIT, form());
            let (one, two, three) = tokio::join!(ask(), ask(), ask());
            let refused = [one, two, three].into_iter().filter_map(Result::err);
            let refused: Vec<_> = refused.map(|error| error.code()).collect();
            Ok(Response::new(RawJson::from_value(&json!({"refused": refused})).unwrap()))
        })
    });
    let limits = ParkedCallLimits { max_questions: 2, ..ParkedCallLimits::default() };
    let mut service = ParkedCallLayer::new(limits, None).layer(curious);
    let asked = service.call(request(&json!({"name": "t", "arguments": {}}))).await.unwrap();
    let asked: Value = serde_json::from_slice(asked.result.as_bytes()).unwrap();
    assert_eq!(asked["inputRequests"].as_object().unwrap().len(), 2);
    let result = service.call(request(&again("t", &asked, &answers(&asked, "A")))).await.unwrap();
    assert_eq!(result.result.as_bytes(), br#"{"refused":[3001]}"#);
}
