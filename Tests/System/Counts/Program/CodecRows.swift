import Atto
import AttoATT

/// One PDU encoded and decoded, again and again.
enum CodecRows {
  static let all: [String: @Sendable (Int) throws -> Void] = [
    "codec-read-request": { count in
      repeated(
        count, encode: { ReadRequest(Counted.value).encode(into: &$0) },
        decode: { pdu in
          switch pdu {
          case .readRequest(let request): return Int(request.handle.rawValue)
          default: return 0
          }
        })
    },
    "codec-read-response": { count in
      let value = [UInt8](repeating: 0x31, count: 20)
      repeated(
        count, encode: { ReadResponse.encode(value.span.bytes, into: &$0) },
        decode: { pdu in
          switch pdu {
          case .readResponse(let response): return response.value.byteCount
          default: return 0
          }
        })
    },
    "codec-notification": { count in
      let value = [UInt8](repeating: 0x31, count: 20)
      repeated(
        count,
        encode: { HandleValueNotification.encode(Counted.stream, value.span.bytes, into: &$0) },
        decode: { pdu in
          switch pdu {
          case .handleValueNotification(let notification): return notification.value.byteCount
          default: return 0
          }
        })
    },
    "codec-write-command": { count in
      let value = [UInt8](repeating: 0x31, count: 20)
      repeated(
        count, encode: { WriteCommand.encode(Counted.value, value.span.bytes, into: &$0) },
        decode: { pdu in
          switch pdu {
          case .writeCommand(let command): return command.value.byteCount
          default: return 0
          }
        })
    },
    "codec-error-response": { count in
      repeated(
        count,
        encode: {
          ErrorResponse(request: .readRequest, handle: Counted.value, code: .invalidHandle)
            .encode(into: &$0)
        },
        decode: { pdu in
          switch pdu {
          case .errorResponse(let error): return Int(error.handle.rawValue)
          default: return 0
          }
        })
    },
  ]

  /// What each PDU gives is looked at, so that a compiler that sees through it leaves nothing out.
  private static func repeated(
    _ count: Int, encode: (inout OutputRawSpan) -> Void, decode: (borrowing PDU) -> Int
  ) {
    var room = Room()
    var sum = 0
    for _ in 0..<count {
      room.fill(encode)
      sum += room.show { decode(PDU($0, mtu: 23)) }
    }
    guard sum > 0, sum % count == 0 else { stop("a PDU was decoded wrongly") }
  }
}
