import AttoATT
import AttoGATT

/// The client's procedures by number, each with what must hold of its output whatever the peer
/// has said.
enum Procedures {
  /// Small enough that inputs reach them.
  static let limits = DiscoveryLimits(
    services: 24, includes: 8, characteristics: 32, descriptors: 40, values: 24, requests: 64)

  /// Begins one: the low four bits say which, the high four vary its arguments.
  static func start(_ number: UInt8, on end: Conversation) {
    let variant = Int(number >> 4)
    let handle = AttributeHandle(UInt16([1, 3, 0x10, 0xFFFF][variant % 4]))
    let range = HandleRange(handle, variant < 8 ? 0xFFFF : handle) ?? .all
    let value = [UInt8](
      (0..<[0, 1, 20, 60, 200, 512][variant % 6]).map { UInt8(truncatingIfNeeded: $0) })
    switch number & 15 {
    case 0: end.start(ExchangeMTU(clientReceiveMTU: 517), isExchange: true)
    case 1: end.start(ReadCharacteristicValue(handle)) { check($0) }
    case 2: end.start(ReadBlob(handle, offset: UInt16(variant * 40))) { check($0) }
    case 3: end.start(ReadLongValue(handle, offset: UInt16(variant % 3 * 20))) { check($0) }
    case 4:
      end.start(ReadMultiple([1, 2, handle])) { check($0.octets) }
    case 5:
      end.start(ReadMultipleVariable([1, handle])) { values in
        Failure.unless(values.count <= 2, "no more values than were asked for")
        for value in values {
          Failure.unless(value.octets.count <= value.statedLength, "a value has its length")
        }
      }
    case 6:
      end.start(
        ReadUsingUUID(
          0x2A00, in: range, extent: variant & 1 == 0 ? .all : .firstResponse, limits: limits)
      ) { output in
        Failure.unless(output.values.count <= limits.values, "limits are kept")
        rise(output.values.map(\.handle), in: range)
      }
    case 7: end.start(WriteValue(handle, value: value))
    case 8: end.start(WriteLongValue(handle, value: value))
    case 9:
      end.start(ReliableWrites([LongWrite(1, value: value), LongWrite(handle, value: [1, 2])]))
    case 10:
      if variant & 1 == 0 {
        end.start(PrepareWrite(handle, offset: UInt16(variant), part: Array(value.prefix(18))))
      } else {
        end.start(ExecuteWrite(variant & 2 == 0 ? .write : .cancel))
      }
    default: discover(number & 15, variant, range, on: end)
    }
  }

  /// Begins a discovery.
  static func discover(
    _ number: UInt8, _ variant: Int, _ range: HandleRange, on end: Conversation
  ) {
    switch number {
    case 11:
      if variant & 1 == 0 {
        end.start(DiscoverPrimaryServices(in: range, limits: limits)) {
          check($0.map(\.range), range)
        }
      } else {
        end.start(DiscoverSecondaryServices(in: range, limits: limits)) {
          check($0.map(\.range), range)
        }
      }
    case 12:
      end.start(DiscoverPrimaryServicesByUUID(0x180D, limits: limits)) {
        check($0.map(\.range), .all)
      }
    case 13:
      if variant & 1 == 0 {
        end.start(DiscoverCharacteristics(in: range, limits: limits)) { check($0, range) }
      } else {
        end.start(DiscoverCharacteristicsByUUID(0x2A00, in: range, limits: limits)) {
          check($0, range)
        }
      }
    case 14:
      if variant & 1 == 0 {
        end.start(DiscoverDescriptors(in: range, limits: limits)) { descriptors in
          Failure.unless(descriptors.count <= limits.descriptors, "limits are kept")
          rise(descriptors.map(\.handle), in: range)
        }
      } else {
        end.start(FindIncludedServices(in: range, limits: limits)) { includes in
          Failure.unless(includes.count <= limits.includes, "limits are kept")
          rise(includes.map(\.handle), in: range)
        }
      }
    default:
      end.start(DiscoverDatabase(readsDatabaseHash: variant & 1 == 1, limits: limits)) { check($0) }
    }
  }

  // MARK: Outputs

  private static func check(_ value: [UInt8]) {
    Failure.unless(value.count <= 512, "no value is longer than 512 octets", "\(value.count)")
  }

  private static func rise(_ handles: [AttributeHandle], in range: HandleRange) {
    for (former, next) in zip(handles, handles.dropFirst()) {
      Failure.unless(former < next, "handles rise", "\(former), \(next)")
    }
    for handle in handles {
      Failure.unless(range.contains(handle), "handles are in the range asked for", "\(handle)")
    }
  }

  private static func check(_ ranges: [HandleRange?], _ range: HandleRange) {
    Failure.unless(ranges.count <= limits.services, "limits are kept")
    rise(ranges.compactMap { $0?.start }, in: range)
    for (former, next) in zip(ranges, ranges.dropFirst()) {
      guard let former, let next else { Failure.broken("a service has a range", "") }
      Failure.unless(
        former.end < next.start, "services lie beside each other", "\(former), \(next)")
    }
  }

  private static func check(_ characteristics: [Characteristic], _ range: HandleRange) {
    Failure.unless(characteristics.count <= limits.characteristics, "limits are kept")
    rise(characteristics.map(\.declarationHandle), in: range)
    for characteristic in characteristics {
      Failure.unless(
        characteristic.declarationHandle < characteristic.valueHandle
          && characteristic.valueHandle <= characteristic.endGroupHandle,
        "a value follows its declaration", "\(characteristic)")
    }
  }

  static func check(_ database: RemoteDatabase) {
    let services = database.services
    check(services.map(\.range), .all)
    let characteristics = services.flatMap(\.characteristics)
    Failure.unless(characteristics.count <= limits.characteristics, "limits are kept")
    Failure.unless(
      characteristics.reduce(0) { $0 + $1.descriptors.count } <= limits.descriptors,
      "limits are kept")
    Failure.unless(
      services.reduce(0) { $0 + $1.includes.count } <= limits.includes, "limits are kept")
    for service in services {
      guard let range = service.range else { Failure.broken("a service has a range", "") }
      check(service.characteristics, range)
      rise(service.includes.map(\.handle), in: range)
      for characteristic in service.characteristics {
        Failure.unless(
          characteristic.endGroupHandle <= service.endGroupHandle,
          "a characteristic ends in its service", "\(characteristic) in \(range)")
        rise(characteristic.descriptors.map(\.handle), in: range)
        for descriptor in characteristic.descriptors {
          Failure.unless(
            descriptor.handle > characteristic.valueHandle
              && descriptor.handle <= characteristic.endGroupHandle,
            "a descriptor belongs to its characteristic", "\(descriptor) of \(characteristic)")
        }
      }
    }
  }
}
