// The part of swift-log's interface that the documentation uses.
public struct Logger: Sendable {
  public typealias Metadata = [String: String]
  public init(label: String) {}
  public func info(_ message: String, metadata: Metadata? = nil) {}
  public func warning(_ message: String, metadata: Metadata? = nil) {}
}
