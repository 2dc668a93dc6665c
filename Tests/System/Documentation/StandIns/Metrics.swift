// The part of swift-metrics' interface that the documentation uses.
public final class Counter: Sendable {
  public init(label: String) {}
  public func increment(by amount: Int64 = 1) {}
}

public final class Gauge: Sendable {
  public init(label: String) {}
  public func record(_ value: Int64) {}
}

public final class Timer: Sendable {
  public init(label: String) {}
  public func recordNanoseconds(_ duration: Int64) {}
}
