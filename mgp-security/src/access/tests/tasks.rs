use mgp_types::{Gate, Object, Origin, RawJson, code};

use super::*;
use crate::access::TaskOwnersGate;

fn from(agent: &str, method: &'static str, params: &str) -> Request {
    let mut request = Request::call(method, Object::parse(params.to_owned()).unwrap());
    request.context.principal = Some(Principal::new(agent));
    request
}

async fn begin(layer: &TaskOwnersGate, agent: &str) {
    let server = TestServer::with_result(r#"{"resultType":"task","taskId":"1","status":"working"}"#);
    layer.layer(server).call(from(agent, "tools/call", "{}")).await.unwrap();
}

async fn asks(
    layer: &TaskOwnersGate,
    agent: &str,
    method: &'static str,
    answer: Result<&'static str, i64>,
) -> Result<Response, Error> {
    let server = TestServer::answering(move |_| match answer {
        Ok(result) => Ok(Response::new(RawJson::parse(result).unwrap())),
        Err(code) => Err(Error::from_origin(Origin::Peer, code, "no")),
    });
    layer.layer(server).call(from(agent, method, r#"{"taskId":"1"}"#)).await
}

#[tokio::test]
async fn a_program_that_takes_the_place_of_another_has_none_of_its_tasks() {
    let layer = TaskOwnersGate::default();
    begin(&layer, "ada").await;
    layer.forget_all();
    assert!(layer.is_empty() && !layer.has_unfinished());
    begin(&layer, "bob").await;
    assert_eq!(asks(&layer, "ada", "tasks/get", Ok("{}")).await.unwrap_err().code(), code::ACCESS_DENIED);
    asks(&layer, "bob", "tasks/get", Ok("{}")).await.unwrap();
}

#[tokio::test]
async fn a_task_goes_on_until_it_is_heard_to_have_ended() {
    let going = [
        ("tasks/get", Ok(r#"{"taskId":"1","status":"working"}"#)),
        ("tasks/get", Err(code::INTERNAL_ERROR)),
        ("tasks/cancel", Err(code::METHOD_NOT_FOUND)),
    ];
    let over = [
        ("tasks/get", Ok(r#"{"taskId":"1","status":"completed"}"#)),
        ("tasks/get", Err(code::INVALID_PARAMS)),
        ("tasks/result", Err(code::INTERNAL_ERROR)),
        ("tasks/result", Ok("{}")),
    ];
    for (method, answer) in over {
        let layer = TaskOwnersGate::default();
        begin(&layer, "ada").await;
        for (method, answer) in going {
            let _ = asks(&layer, "ada", method, answer).await;
            assert!(layer.has_unfinished(), "{method} {answer:?}");
        }
        let _ = asks(&layer, "ada", method, answer).await;
        assert!(!layer.has_unfinished(), "{method} {answer:?}");
        // The server gives the id to another of hers.
        begin(&layer, "ada").await;
        assert!(layer.has_unfinished());
    }
}
