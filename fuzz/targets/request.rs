//! Any requests to the whole API in process: any method, path, headers and body. Objects are kept between runs, and the
//! controllers run. A request is the text of an HTTP request; a record separator ends it. Half of the mutations keep JSON
//! bodies valid. Every 10,000 requests, it prints how they were answered.
#![no_main]

#[path = "../mutate.rs"]
mod mutate;

use std::cell::RefCell;
use std::collections::BTreeMap;

use bytes::Bytes;
use futures::FutureExt as _;
use http::{HeaderName, HeaderValue, Method, Request};
use http_body_util::{BodyExt as _, Full};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use outrigger_apiserver::server::{Options, Server};
use outrigger_simulate as simulate;
use outrigger_store::Scope;
use tokio::runtime::{Builder, Runtime};

const SEPARATOR: u8 = 0x1e;
/// More requests in one input only make it slow.
const MAX_REQUESTS: usize = 8;
/// With more objects, the server starts again without any.
const MAX_OBJECTS: usize = 2_000;

/// How many requests are between two prints of the answers.
const REPORT_EVERY: usize = 10_000;

struct World {
    runtime: Runtime,
    server: Option<Server>,
    /// How many requests got which status code.
    answers: BTreeMap<u16, usize>,
}

impl World {
    fn new() -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        Self { runtime, server: None, answers: BTreeMap::new() }
    }

    fn run(&mut self, input: &[u8]) {
        let (server, answers) = (self.server.take(), &mut self.answers);
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
                    *answers.entry(send(&server, request).await).or_default() += 1;
                }
            }
            server
        });
        self.server = Some(server);
        let total: usize = self.answers.values().sum();
        if total >= REPORT_EVERY {
            eprintln!("answers: {:?}", std::mem::take(&mut self.answers));
        }
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
async fn send(server: &Server, request: Request<Full<Bytes>>) -> u16 {
    let response = server.service().handle(request).await;
    let code = response.status().as_u16();
    let mut body = response.into_body();
    while let Some(Some(Ok(_))) = body.frame().now_or_never() {}
    tokio::task::yield_now().await;
    code
}

thread_local! {
    static WORLD: RefCell<World> = RefCell::new(World::new());
}

fuzz_target!(|input: &[u8]| {
    WORLD.with_borrow_mut(|world| world.run(input));
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let mut random = mutate::Random::new(seed);
    let mutated = (random.below(2) == 0).then(|| with_mutated_body(&data[..size], &mut random));
    match mutated.flatten() {
        Some(mutated) if mutated.len() <= max_size => {
            data[..mutated.len()].copy_from_slice(&mutated);
            mutated.len()
        }
        _ => fuzzer_mutate(data, size, max_size),
    }
});

/// The input with a change in the JSON body of one request; none if that has no such body.
fn with_mutated_body(input: &[u8], random: &mut mutate::Random) -> Option<Vec<u8>> {
    let mut requests: Vec<Vec<u8>> = input.split(|byte| *byte == SEPARATOR).map(<[u8]>::to_vec).collect();
    let selected = random.below(requests.len());
    let request = &mut requests[selected];
    let body = request.windows(2).position(|bytes| bytes == b"\n\n")? + 2;
    let mut value = serde_json::from_slice(&request[body..]).ok()?;
    mutate::mutate(&mut value, random);
    request.truncate(body);
    request.extend(value.to_string().into_bytes());
    Some(requests.join(&SEPARATOR))
}
