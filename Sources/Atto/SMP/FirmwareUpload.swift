/// The upload of an image, as a machine without time and without a link.
///
/// # Theory
/// Each request has a part of the file and its offset, and each response the offset that the device
/// wants next. The first request also has the length and the hash of the file: a device
/// that knows the hash from an upload that broke off answers with the offset at which it stands, so
/// every upload is one that may be resumed.
///
/// The first request goes alone, because the device may have to erase its flash before it can take
/// more. Then up to ``window`` requests wait for their responses, which come in order. A device
/// that could not take one answers it and all that follow with the offset that it still wants: then
/// nothing is sent until all are answered, and the upload goes on from there.
package struct FirmwareUpload: Sendable {
  package struct Options: Sendable {
    /// The number of the image, on devices with several.
    package var image = 0
    /// Whether the device is to refuse an image that is not newer than its own.
    package var onlyUpgrade = false
    /// Requests that wait for their responses at a time.
    package var window = 1
    /// The longest request in octets.
    package var longestMessage: Int

    package init(longestMessage: Int) { self.longestMessage = longestMessage }
  }

  package enum Fault: Error, Hashable, Sendable, CustomStringConvertible {
    /// A request has no room for an octet of the file.
    case tooShort(longestMessage: Int)
    /// The response has no offset, or one beyond the file.
    case badOffset
    /// The device asks for the same part again and again.
    case noProgress(offset: Int)
    /// The device has found another hash than that of the file.
    case wrongHash

    package var description: String {
      switch self {
      case .tooShort(let length):
        "messages of \(length) octets are too short for an upload: a larger MTU is needed"
      case .badOffset: "the device answers with an offset that the file does not have"
      case .noProgress(let offset): "the device asks for offset \(offset) again and again"
      case .wrongHash: "the device has received another file than was sent: upload it again"
      }
    }
  }

  /// Responses without an octet more than ever before.
  private static let patience = 50

  private let file: [UInt8]
  private let hash: [UInt8]
  private let options: Options
  /// The offsets after the requests that wait for their responses, in order.
  private var waiting: [Int] = []
  private var sent = 0
  private var hasBegun = false
  /// Whether the waiting requests are those that the device did not take.
  private var isReturning = false
  private var furthest = 0
  private var idleResponses = 0
  /// The octets that the device has.
  package private(set) var offset = 0
  /// Whether the device has the whole file.
  package private(set) var isDone = false

  package init(_ image: FirmwareImage, _ options: Options) {
    (file, hash, self.options) = (image.octets, image.fileHash, options)
  }

  /// The body of the next request; nil if a response must come first.
  package mutating func next() throws(Fault) -> CBOR? {
    guard !isDone, !isReturning, sent < file.count else { return nil }
    guard
      hasBegun ? waiting.count < options.window && offset > 0 || waiting.isEmpty : waiting.isEmpty
    else {
      return nil
    }
    var pairs: [String: CBOR] = ["off": .integer(Int64(sent)), "data": .octets([])]
    if sent == 0 {
      pairs["len"] = .integer(Int64(file.count))
      pairs["sha"] = .octets(hash)
      if options.image != 0 { pairs["image"] = .integer(Int64(options.image)) }
      if options.onlyUpgrade { pairs["upgrade"] = .boolean(true) }
    }
    // The data's own length takes up to three octets, one of which is there already.
    let room = options.longestMessage - SMPMessage.headerLength - CBOR.map(pairs).encoded.count - 2
    guard room > 0 else { throw .tooShort(longestMessage: options.longestMessage) }
    let end = min(sent + room, file.count)
    pairs["data"] = .octets(Array(file[sent..<end]))
    (hasBegun, sent) = (true, end)
    waiting.append(end)
    return .map(pairs)
  }

  /// Takes the body of the next response.
  package mutating func received(_ body: CBOR) throws {
    if let refusal = SMPRefusal(in: body) { throw refusal }
    guard let number = body["off"]?.integer, let found = Int(exactly: number),
      0...file.count ~= found,
      !waiting.isEmpty
    else { throw Fault.badOffset }
    let expected = waiting.removeFirst()
    // The first response may resume an upload that is further.
    let isNew = found == expected && !isReturning
    let resumes = offset == 0 && found > expected && waiting.isEmpty
    if !isNew && !resumes { isReturning = true }
    idleResponses = found > furthest ? 0 : idleResponses + 1
    guard idleResponses <= Self.patience else { throw Fault.noProgress(offset: found) }
    (offset, furthest) = (found, max(found, furthest))
    if !isNew { sent = found }
    if waiting.isEmpty { isReturning = false }
    guard found == file.count else { return }
    isDone = true
    if body["match"]?.boolean == false { throw Fault.wrongHash }
  }
}
