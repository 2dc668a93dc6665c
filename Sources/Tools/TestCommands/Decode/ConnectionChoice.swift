import AttoFormats
import AttoLinks

/// `--connection`: a filter for the connections of a capture.
struct ConnectionChoice: Sendable {
  private var adapter: UInt16?
  private let handle: UInt32
  private var incarnation: Int?

  /// Reads `0x0040`, `64`, `hci1/0x0040`, `0x0040.2` or an access address.
  init?(argument text: String) {
    var rest = text[...]
    if let slash = rest.firstIndex(of: "/") {
      guard let number = L2CAPSource.index(ofAdapter: rest[..<slash]) else {
        return nil
      }
      adapter = number
      rest = rest[slash...].dropFirst()
    }
    if let dot = rest.firstIndex(of: ".") {
      guard let number = Int(rest[dot...].dropFirst()), number > 0 else { return nil }
      incarnation = number
      rest = rest[..<dot]
    }
    guard let number = UInt32(argument: rest) else { return nil }
    handle = number
  }

  func includes(_ connection: CapturedConnection) -> Bool {
    connection.handle == handle && (adapter ?? connection.adapter) == connection.adapter
      && (incarnation ?? connection.incarnation) == connection.incarnation
  }
}
