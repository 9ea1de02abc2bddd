// SPDX-License-Identifier: Apache-2.0

import io.opentelemetry.sdk.common.export.Compressor;
import io.opentelemetry.sdk.common.export.GrpcSender;
import io.opentelemetry.sdk.common.export.GrpcSenderConfig;
import io.opentelemetry.sdk.common.export.GrpcSenderProvider;
import io.opentelemetry.sdk.common.export.GrpcStatusCode;
import io.opentelemetry.sdk.common.export.HttpSender;
import io.opentelemetry.sdk.common.export.HttpSenderConfig;
import io.opentelemetry.sdk.common.export.HttpSenderProvider;
import io.opentelemetry.sdk.common.export.MessageWriter;
import io.opentelemetry.sdk.common.export.ProxyOptions;
import io.opentelemetry.sdk.common.export.RetryPolicy;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.URI;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.function.Supplier;
import javax.net.ssl.SSLContext;
import javax.net.ssl.X509TrustManager;

/**
 * Sends requests with the senders and the retries of OpenTelemetry's exporters for Java: Exporter KIND ADDRESS. The
 * exporter for profiles itself is not published. Each line of the standard input is a request in base64. Prints how many
 * were delivered. A request whose attempts are used up is sent again.
 */
public class Exporter {
    static final String METHOD =
        "opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export";

    record Config(URI uri) implements HttpSenderConfig, GrpcSenderConfig {
        public URI getEndpoint() { return uri; }
        public String getFullMethodName() { return METHOD; }
        public String getContentType() { return "application/x-protobuf"; }
        public Compressor getCompressor() { return null; }
        public Duration getTimeout() { return Duration.ofSeconds(60); }
        public Duration getConnectTimeout() { return Duration.ofSeconds(10); }
        public Supplier<Map<String, List<String>>> getHeadersSupplier() { return Map::of; }
        public ProxyOptions getProxyOptions() { return null; }
        public RetryPolicy getRetryPolicy() {
            return RetryPolicy.builder().setMaxAttempts(5).setInitialBackoff(Duration.ofMillis(200))
                .setMaxBackoff(Duration.ofSeconds(2)).build();
        }
        public SSLContext getSslContext() { return null; }
        public X509TrustManager getTrustManager() { return null; }
        public ExecutorService getExecutorService() { return null; }
        public long getMaxResponseBodySize() { return 1 << 20; }
        public List<String> getEnabledProtocols() { return List.of(); }
    }

    record Body(byte[] bytes) implements MessageWriter {
        public void writeMessage(OutputStream out) throws java.io.IOException { out.write(bytes); }
        public int getContentLength() { return bytes.length; }
    }

    interface Sender { void send(Body body, CompletableFuture<String> result); }

    /** The result is "" if the request was delivered, and otherwise the reason. */
    static Sender sender(String kind, String address) {
        if (kind.equals("java-grpc")) {
            GrpcSender s = ServiceLoader.load(GrpcSenderProvider.class).findFirst().get()
                .createSender(new Config(URI.create("http://" + address)));
            return (body, result) -> s.send(body,
                rs -> result.complete(rs.getStatusCode() == GrpcStatusCode.OK ? "" : rs.getStatusCode().toString()),
                e -> result.complete(e.toString()));
        }
        HttpSender s = ServiceLoader.load(HttpSenderProvider.class).findFirst().get()
            .createSender(new Config(URI.create("http://" + address + "/v1development/profiles")));
        return (body, result) -> s.send(body,
            rs -> result.complete(rs.getStatusCode() == 200 ? "" : "status " + rs.getStatusCode()),
            e -> result.complete(e.toString()));
    }

    public static void main(String[] args) throws Exception {
        Sender sender = sender(args[0], args[1]);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        int delivered = 0;
        for (String line; (line = in.readLine()) != null;) {
            Body body = new Body(Base64.getDecoder().decode(line));
            for (int turn = 0; turn < 20; turn++) {
                CompletableFuture<String> result = new CompletableFuture<>();
                sender.send(body, result);
                String why = result.get();
                if (why.isEmpty()) {
                    delivered++;
                    break;
                }
                System.err.println(why);
            }
            Thread.sleep(20);
        }
        System.out.println(delivered);
        System.exit(0);
    }
}
