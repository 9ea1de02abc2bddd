// SPDX-License-Identifier: Apache-2.0
// tasks SECONDS: Tokio tasks that exchange messages over loopback connections and channels.
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

#[inline(never)]
fn checksum(data: &[u8]) -> u64 {
    let mut sum = 0u64;
    for _ in 0..20 {
        sum = data.iter().fold(sum, |s, b| s.rotate_left(5) ^ u64::from(*b));
    }
    sum
}

async fn serve(mut stream: TcpStream, results: mpsc::Sender<u64>) -> std::io::Result<()> {
    let mut buffer = vec![0u8; 4096];
    loop {
        stream.read_exact(&mut buffer).await?;
        let sum = checksum(&buffer);
        let _ = results.send(sum).await;
        stream.write_all(&sum.to_le_bytes()).await?;
    }
}

async fn client(address: std::net::SocketAddr, end: Instant) -> std::io::Result<()> {
    let mut stream = TcpStream::connect(address).await?;
    let data = vec![7u8; 4096];
    let mut reply = [0u8; 8];
    while Instant::now() < end {
        stream.write_all(&data).await?;
        stream.read_exact(&mut reply).await?;
        tokio::task::yield_now().await;
    }
    Ok(())
}

#[tokio::main(worker_threads = 2)]
async fn main() -> std::io::Result<()> {
    let seconds = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(1);
    let end = Instant::now() + Duration::from_secs(seconds);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let (sender, mut results) = mpsc::channel(64);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, sender.clone()));
        }
    });
    tokio::spawn(async move { while results.recv().await.is_some() {} });
    let clients: Vec<_> = (0..8).map(|_| tokio::spawn(client(address, end))).collect();
    for c in clients {
        let _ = c.await;
    }
    Ok(())
}
