import AttoATT

/// The octets that a PDU is encoded as.
func encoded(limit: Int = 517, _ encode: (inout OutputRawSpan) -> Void) -> [UInt8] {
  var queue = PDUQueue()
  queue.append(limit: limit, encode)
  var pdu: [UInt8] = []
  queue.removeFirst(into: &pdu)
  return pdu
}
