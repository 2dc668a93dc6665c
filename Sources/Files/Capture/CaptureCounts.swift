/// What a capture held, for those who want to know what they do not see.
public struct CaptureCounts: Equatable, Sendable {
  /// All records.
  public var records = 0
  /// Attribute PDUs that were found.
  public var pdus = 0
  /// Commands and events of HCI.
  public var commandsAndEvents = 0
  /// Synchronous and isochronous data.
  public var streams = 0
  /// Records that tell of the capture or the machine.
  public var notes = 0
  /// PDUs of L2CAP on other channels, by channel.
  public var otherChannels: [UInt16: Int] = [:]
  /// Advertising, and PDUs of the link layer that carry no L2CAP.
  public var linkLayer = 0
  /// PDUs of the link layer that are the one before once more.
  public var repetitions = 0
  /// PDUs of the link layer that are encrypted.
  public var encrypted = 0
  /// Records that the capture has cut, or that arrived damaged.
  public var cut = 0
  /// Data whose lengths contradict each other.
  public var malformed = 0
  /// Continuations whose beginning is not in the capture.
  public var withoutBeginning = 0
  /// L2CAP PDUs whose end is not in the capture.
  public var withoutEnd = 0
  /// Records that are not understood, by what they are.
  public var unknown: [String: Int] = [:]

  /// One that has counted nothing.
  public init() {}
}
