import AttoATT
import Atto
import AttoLinkTiming
import AttoLinks

/// Short texts that come from command lines, files and other processes. The input is one octet that
/// says what it is to be, and the text.
///
/// Rules: what is read prints as a text that reads back as the same; what is refused is told with
/// words.
enum TextTarget {
  static func take(_ input: [UInt8]) {
    guard let kind = input.first else { return }
    let text = String(decoding: input.dropFirst(), as: UTF8.self)
    switch kind % 4 {
    case 0:
      guard let uuid = BluetoothUUID(text) else { return }
      Failure.unless(BluetoothUUID("\(uuid)") == uuid, "a UUID reads back", text)
    case 1:
      guard let address = BluetoothAddress(text) else { return }
      Failure.unless(BluetoothAddress("\(address)") == address, "an address reads back", text)
    case 2:
      do throws(EndpointError) {
        let endpoint = try Endpoint(text)
        let printed = "\(endpoint)"
        do throws(EndpointError) {
          Failure.unless(try Endpoint(printed) == endpoint, "an endpoint reads back", printed)
        } catch { Failure.broken("an endpoint reads back", "\(printed): \(error)") }
      } catch { Failure.unless(!"\(error)".isEmpty, "a mistake is told with words", text) }
    default:
      do throws(LinkParameterFault) {
        let parameters = try LinkParameters.reading(text).parameters
        let printed = "\(parameters)"
        do throws(LinkParameterFault) {
          Failure.unless(
            try LinkParameters.reading(printed).parameters == parameters, "parameters read back",
            printed)
        } catch { Failure.broken("parameters read back", "\(printed): \(error)") }
      } catch { Failure.unless(!"\(error)".isEmpty, "a mistake is told with words", text) }
    }
  }

  static var seeds: [[UInt8]] {
    let texts: [(UInt8, String)] = [
      (0, "180D"), (0, "0000180D-0000-1000-8000-00805f9b34fb"), (0, "0x2A37"), (0, "12345678"),
      (1, "D4:13:F6:FB:AC:EF/random"), (1, "00:AA:01:01:00:01"), (2, "unix:/tmp/strap"),
      (2, "fd:3"),
      (2, "le:00:AA:01:01:00:01/random@hci1"), (2, "le:@hci0"), (2, "air:Strap"), (2, "air:"),
      (2, "air:Strap?phy=2M&interval=15ms&dle=251&per=0.01&seed=7"),
      (2, "air:Strap?event-length=5.0001ms&links=3&frame-space=0us&subrate=4&continuation=1"),
      (3, "phy=coded8&interval=7.5ms&dle=27"), (3, "phy=2M&event-length=5ms&packets=4&encrypted"),
    ]
    return texts.map { [$0.0] + Array($0.1.utf8) }
  }
}
