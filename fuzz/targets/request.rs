//! Any requests to the whole API in process: any method, path, headers and body. Objects are kept between runs, and the
//! controllers run. A request is the text of an HTTP request; a record separator ends it.
#![no_main]

use std::cell::RefCell;

use bytes::Bytes;
use futures::FutureExt as _;
use http::{HeaderName, HeaderValue, Method, Request};
use http_body_util::{BodyExt as _, Full};
use libfuzzer_sys::fuzz_target;
use outrigger_apiserver::server::{Options, Server};
use outrigger_simulate as simulate;
use outrigger_store::Scope;
use tokio::runtime::{Builder, Runtime};

const SEPARATOR: u8 = 0x1e;
/// More requests in one input only make it slow.
const MAX_REQUESTS: usize = 8;
/// With more objects, the server starts again without any.
const MAX_OBJECTS: usize = 2_000;

struct World {
    runtime: Runtime,
    server: Option<Server>,
}

impl World {
    fn new() -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        Self { runtime, server: None }
    }

    fn run(&mut self, input: &[u8]) {
        let server = self.server.take();
        let server = self.runtime.block_on(async {
            let server = match server {
                Some(server) if is_small(&server) => server,
                Some(server) => {
                    server.close().await;
                    start().await
                }
                None => start().await,
            };
            for text in input.split(|byte| *byte == SEPARATOR).take(MAX_REQUESTS) {
                if let Some(request) = parse(text) {
                    send(&server, request).await;
                }
            }
            server
        });
        self.server = Some(server);
    }
}

fn is_small(server: &Server) -> bool {
    server.store().snapshot().list(&Scope::everything()).count() < MAX_OBJECTS
}

async fn start() -> Server {
    let server = Server::open(Options::in_memory()).await.unwrap();
    server.run_controllers();
    simulate::start(&server, simulate::Options::default());
    server
}

fn parse(text: &[u8]) -> Option<Request<Full<Bytes>>> {
    let end = text.windows(2).position(|bytes| bytes == b"\n\n");
    let (head, body) = match end {
        Some(end) => (&text[..end], &text[end + 2..]),
        None => (text, &[][..]),
    };
    let mut lines = head.split(|byte| *byte == b'\n');
    let first = std::str::from_utf8(lines.next()?).ok()?;
    let (method, path) = first.split_once(' ')?;
    let method = Method::from_bytes(method.as_bytes()).ok()?;
    let mut request = Request::builder().method(method).uri(path);
    for line in lines {
        let colon = line.iter().position(|byte| *byte == b':')?;
        let name = HeaderName::from_bytes(&line[..colon]).ok()?;
        let value = HeaderValue::from_bytes(line[colon + 1..].trim_ascii()).ok()?;
        request = request.header(name, value);
    }
    request.body(Full::new(Bytes::copy_from_slice(body))).ok()
}

/// Reads the response as far as it is there: a watch does not end.
async fn send(server: &Server, request: Request<Full<Bytes>>) {
    let response = server.service().handle(request).await;
    let mut body = response.into_body();
    while let Some(Some(Ok(_))) = body.frame().now_or_never() {}
    tokio::task::yield_now().await;
}

thread_local! {
    static WORLD: RefCell<World> = RefCell::new(World::new());
}

fuzz_target!(|input: &[u8]| {
    WORLD.with_borrow_mut(|world| world.run(input));
});
