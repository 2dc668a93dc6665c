// The part of swift-distributed-tracing's interface that the documentation uses; OpenTelemetry's
// exporters are behind it.
public protocol Span: Sendable {
  func recordError(_ error: any Error)
}

struct NoSpan: Span {
  func recordError(_ error: any Error) {}
}

public func withSpan<T>(
  _ name: String, isolation: isolated (any Actor)? = #isolation,
  _ body: (any Span) async throws -> T
) async throws -> T {
  try await body(NoSpan())
}
