// What `import Atto` offers besides Atto's own declarations: the types that applications name, one by
// one, so that no other name of the modules below clashes with an application's. Code that works on
// the protocol itself imports AttoATT or AttoGATT too.
//
// Tests/api.txt lists all names and declarations that applications see.

@_exported import struct AttoATT.AttributeHandle
@_exported import struct AttoATT.BluetoothUUID
@_exported import struct AttoATT.ErrorCode
@_exported import struct AttoATT.ErrorResponse
@_exported import struct AttoATT.HandleRange
@_exported import struct AttoATT.LinkSecurity
@_exported import struct AttoATT.Opcode
@_exported import enum AttoATT.SecurityLevel
@_exported import class AttoEventLoop.Loop
@_exported import struct AttoEventLoop.LoopError
@_exported import struct AttoGATT.AttributePermissions
@_exported import struct AttoGATT.CharacteristicDefinition
@_exported import struct AttoGATT.CharacteristicProperties
@_exported import struct AttoGATT.ClientID
@_exported import struct AttoGATT.ClientRecord
@_exported import struct AttoGATT.Database
@_exported import enum AttoGATT.DatabaseError
@_exported import struct AttoGATT.DescriptorDefinition
@_exported import struct AttoGATT.DiscoveryLimits
@_exported import struct AttoGATT.IncludeDefinition
@_exported import struct AttoGATT.LongWrite
@_exported import enum AttoGATT.ProtocolViolation
@_exported import enum AttoGATT.ReadAnswer
@_exported import struct AttoGATT.RemoteDatabase
@_exported import enum AttoGATT.ServerEvent
@_exported import struct AttoGATT.ServerLimits
@_exported import struct AttoGATT.ServiceDefinition
@_exported import enum AttoGATT.ValueDefinition
@_exported import struct AttoGATT.ValueLimits
@_exported import enum AttoGATT.WriteAnswer
@_exported import struct AttoKernelRadio.AdapterInformation
@_exported import class AttoKernelRadio.KernelAdapters
@_exported import struct AttoLinks.BluetoothAddress
@_exported import struct AttoLinks.KernelStamps
@_exported import struct AttoLinks.LinkError
@_exported import struct AttoLinks.LinkPHY
@_exported import struct AttoLinks.L2CAPAddress
@_exported import enum AttoLinks.L2CAPSource
@_exported import class AttoRadio.Adapter
@_exported import enum AttoRadio.AdapterState
@_exported import class AttoRadio.Advertisement
@_exported import struct AttoRadio.AdvertisingData
@_exported import struct AttoRadio.AdvertisingParameters
@_exported import struct AttoRadio.AgreedParameters
@_exported import struct AttoRadio.AirTiming
@_exported import struct AttoRadio.ConnectionInformation
@_exported import struct AttoRadio.Discovery
@_exported import struct AttoRadio.JustWorksAgent
@_exported import struct AttoRadio.LinkChange
@_exported import protocol AttoRadio.PairingAgent
@_exported import enum AttoRadio.PairingCapability
@_exported import enum AttoRadio.PairingFailure
@_exported import enum AttoRadio.PeerTarget
@_exported import class AttoRadio.PublishedChannel
@_exported import enum AttoRadio.RadioError
@_exported import enum AttoRadio.ScanEvent
@_exported import struct AttoRadio.ScanOptions
@_exported import struct AttoRadio.ScanTiming
@_exported import struct AttoRadio.SubrateRequest
// It has members only.
@_exported import AttoVirtualRadio
import AttoATT
import AttoEventLoop
import AttoGATT
import AttoLinks
import AttoRadio

// Names that other packages use too are nested.

extension RemoteDatabase {
  /// A service of the peer.
  public typealias Service = AttoGATT.Service
  /// A characteristic of the peer.
  public typealias Characteristic = AttoGATT.Characteristic
  /// A descriptor of the peer.
  public typealias Descriptor = AttoGATT.Descriptor
  /// A service that another one includes.
  public typealias IncludedService = AttoGATT.IncludedService
}

extension AttoError {
  /// How the caller used the API incorrectly.
  public typealias Misuse = AttoGATT.Misuse
  /// Why a bearer cannot be used any more.
  public typealias BearerFailure = AttoATT.BearerFailure
}

extension Adapter {
  /// A connection-oriented channel.
  public typealias Channel = AttoRadio.Channel
}
